# The photographs of bench/images and bench/parts; to be sourced, with tools/install_deps.sh before it.

# wick_photographs [FOLDER]: makes the pictures once, from those of Debian's wallpapers or from the JPEGs below FOLDER.
# Sets wick_set, where they are (small/ and large/), wick_work, a folder for what belongs to them, and wick_pillow, a
# Python that has Pillow.
wick_photographs() {
  local root photos=${1:-} packages debian
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  wick_pillow=python3
  python3 -c 'import PIL' 2>/dev/null || wick_pillow=/usr/bin/python3
  wick_work=$root/build/images
  wick_set=$wick_work/set${photos:+-$(printf %s "$photos" | cksum | cut -d ' ' -f 1)}
  [[ -e $wick_set/complete ]] && return
  mkdir -p "$wick_work"
  rm -rf "$wick_set"
  if [[ -n $photos ]]; then
    wick_say "making the pictures from $photos, in $wick_set" >&2
    "$wick_pillow" "$root/bench/images/make_set.py" "$wick_set" --from "$photos" >&2
  else
    packages=(mate-backgrounds plasma-workspace-wallpapers)  # gnome's, ukui's and lomiri's are drawn
    debian=$wick_work/debian
    if [[ ! -e $debian/complete ]]; then
      wick_say "fetching ${packages[*]} (140 MB) into $wick_work, without installing them" >&2
      (
        cd "$wick_work"
        apt-get -q download "${packages[@]}" >"$wick_work/apt.log" 2>&1 ||
          { wick_update_apt && apt-get -q download "${packages[@]}" >"$wick_work/apt.log" 2>&1; } ||
          wick_die "apt-get download failed, see $wick_work/apt.log; or name a folder of your own with --photos DIR"
        for package in *.deb; do dpkg-deb -x "$package" "$debian"; done
        rm -f ./*.deb
        touch "$debian/complete"
      )
    fi
    wick_say "making the pictures, in $wick_set" >&2
    "$wick_pillow" "$root/bench/images/make_set.py" "$wick_set" --debian "$debian" >&2
  fi
  touch "$wick_set/complete"
}
