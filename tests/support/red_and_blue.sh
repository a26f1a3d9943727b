# Sourced by tests of examples. red_and_blue FOLDER N: two classes, N pictures of 8 x 8 in each.
bmp() {
  printf 'BM\xf6\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\x08\x00\x00\x00\x08\x00\x00\x00\x01\x00\x18\x00\x00\x00\x00\x00\xc0\x00\x00\x00'
  printf '\x00%.0s' {1..16}
  for _ in {1..64}; do printf "$1"; done
}
red_and_blue() {
  local i
  mkdir -p "$1/"{red,blue}
  for ((i = 1; i <= $2; ++i)); do
    bmp '\x00\x00\xff' >"$1/red/$i.bmp"
    bmp '\xff\x00\x00' >"$1/blue/$i.bmp"
  done
}
