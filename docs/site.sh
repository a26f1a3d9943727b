#!/usr/bin/env bash
# Builds the site of the documentation into build/site, and checks its links.
#
#   bash docs/site.sh
#
# README.md is its home page. Nothing in it comes from a network. To look at it, and to search in it:
#   python3 -m http.server --directory build/site
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/install_deps.sh
source tests/parts.sh

[[ ${1:-} != -h && ${1:-} != --help ]] || { wick_usage "${BASH_SOURCE[0]}" && exit; }
(($# == 0)) || wick_die "docs/site.sh: takes no arguments, found $1"
wick_require build venv
wick_make_venv site-venv mkdocs-material
export NO_MKDOCS_2_WARNING=1
wick_step site build/site-venv/bin/mkdocs build --strict --quiet
outside=$(grep -rhoE '<(script|link|img)[^>]+(src|href)="(https?:)?//[^"]+' build/site --include='*.html' | sort -u || true)
[[ -z $outside ]] || wick_die "docs/site.sh: pages load something from a network: $outside"
odd=$(grep -rHoE '<a href="[^"]* [^"]*"' build/site --include='*.html' || true)
[[ -z $odd ]] || wick_die "docs/site.sh: code was taken for a link: $odd"
wick_say "site: $(find build/site -name '*.html' | wc -l) pages, build/site/index.html"
