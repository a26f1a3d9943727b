# The README's program is this one, and runs.
program=$1 scratch=$3
root=$(cd "$(dirname "$0")/../.." && pwd)
code=$(sed '1d' "$root/examples/00_readme.cpp")
[[ $(<"$root/README.md") == *"$code"* ]] || { echo "README.md does not show examples/00_readme.cpp"; exit 1; }

# Two classes of pictures: PPM is not what image_folder looks for, so BMP, written by hand.
bmp() {  # width = height = 8, one colour
  printf 'BM\xf6\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\x08\x00\x00\x00\x08\x00\x00\x00\x01\x00\x18\x00\x00\x00\x00\x00\xc0\x00\x00\x00'
  printf '\x00%.0s' {1..16}
  for _ in {1..64}; do printf "$1"; done
}
mkdir -p "$scratch/pictures/"{red,blue}
for i in {1..40}; do
  bmp '\x00\x00\xff' >"$scratch/pictures/red/$i.bmp"
  bmp '\xff\x00\x00' >"$scratch/pictures/blue/$i.bmp"
done
out=$("$program" "$scratch/pictures")
echo "$out"
grep -q '^\[64, 3, 224, 224\] \[64\]$' <<<"$out"
grep -q '^\[16, 3, 224, 224\] \[16\]$' <<<"$out"
# Of three epochs 240 samples; how many of the fourth are made ahead is a matter of time.
count=$(sed -n 's/^  random_resized_crop  *\([0-9]*\) .*/\1/p' <<<"$out")
((count >= 240 && count <= 240 + 80 + 5 * 64)) || { echo "random_resized_crop ran $count times"; exit 1; }
grep -q 'waiting for data' <<<"$out"
