# One damaged file of 40: replaced, reported, and left alone by the next run.
program=$1 scratch=$3
bmp() {
  printf 'BM\xf6\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\x08\x00\x00\x00\x08\x00\x00\x00\x01\x00\x18\x00\x00\x00\x00\x00\xc0\x00\x00\x00'
  printf '\x00%.0s' {1..16}
  for _ in {1..64}; do printf "$1"; done
}
mkdir -p "$scratch/pictures/"{red,blue}
for i in {1..20}; do
  bmp '\x00\x00\xff' >"$scratch/pictures/red/$i.bmp"
  bmp '\xff\x00\x00' >"$scratch/pictures/blue/$i.bmp"
done
echo 'GIF' >"$scratch/pictures/red/7.bmp"
cd "$scratch"
out=$("$program" pictures --batch 8 --size 16 --workers 2)
echo "$out"
grep -q '^pictures/red/7.bmp: decode: .*; in its place: pictures/' <<<"$out"
grep -q '^epoch 0: 40 samples, 1 failures so far$' <<<"$out"
[[ $(wc -l <failures.jsonl) == 1 ]]
grep -q 'red/7.bmp' bad.quarantine
out=$("$program" pictures --batch 8 --size 16)
echo "$out"
grep -q 'on the quarantine list' <<<"$out"
