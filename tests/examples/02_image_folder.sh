# Learns red from blue, with one damaged file among them.
program=$1 scratch=$3
bmp() {
  printf 'BM\xf6\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\x08\x00\x00\x00\x08\x00\x00\x00\x01\x00\x18\x00\x00\x00\x00\x00\xc0\x00\x00\x00'
  printf '\x00%.0s' {1..16}
  for _ in {1..64}; do printf "$1"; done
}
mkdir -p "$scratch/pictures/"{red,blue}
for i in {1..60}; do
  bmp '\x00\x00\xff' >"$scratch/pictures/red/$i.bmp"
  bmp '\xff\x00\x00' >"$scratch/pictures/blue/$i.bmp"
done
out=$("$program" "$scratch/pictures" --epochs 3 --batch 8 --size 16 --workers 2)
echo "$out"
grep -q '^epoch 3: .*accuracy 100.0 %' <<<"$out"
echo 'GIF' >"$scratch/pictures/red/7.bmp"
"$program" "$scratch/pictures" --epochs 1 --batch 8 --size 16 2>"$scratch/message"
grep -q 'left out: .*red/7.bmp: decode: ' "$scratch/message"
