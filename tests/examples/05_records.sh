# Records of a picture and JSON, made as WebDataset makes them; then one whose JSON lacks a field.
program=$1 scratch=$3
python3 - "$scratch" <<'PYTHON'
import io, json, struct, sys, tarfile
scratch = sys.argv[1]

def bmp(shade):
    row = bytes([shade, 0, 255 - shade]) * 8
    return b"BM" + struct.pack("<IHHI", 54 + 192, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 8, 8, 1, 24, 0, 192, 0, 0, 0, 0) + row * 8

def write(name, broken):
    with tarfile.open(f"{scratch}/{name}", "w") as out:
        for i in range(20):
            about = {"label": i % 3, "box": [0.1, 0.2, 0.8, 0.9], "caption": f"picture {i}"}
            if i == broken:
                del about["box"]
            for extension, data in (("jpg", bmp(10 * i)), ("json", json.dumps(about).encode()), ("txt", b"never read")):
                member = tarfile.TarInfo(f"{i:03}.{extension}")
                member.size = len(data)
                out.addfile(member, io.BytesIO(data))

write("good.tar", None)
write("bad.tar", 7)
PYTHON
out=$("$program" "$scratch/good.tar" --batch 8 --size 16 --workers 2)
echo "$out"
grep -q '^pictures \[8, 3, 16, 16\], labels \[8\] of long.*, boxes \[8, 4\] of float, captions: 8, the first "picture ' <<<"$out"
grep -q '^20 samples in 3 batches$' <<<"$out"
if "$program" "$scratch/bad.tar" --batch 8 --size 16 2>"$scratch/message"; then echo "a record without box was taken"; exit 1; fi
grep -q '007' "$scratch/message"
grep -q 'parse' "$scratch/message"
