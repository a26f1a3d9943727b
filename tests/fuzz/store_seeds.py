#!/usr/bin/env python3
"""store_seeds.py FOLDER: a small text of every kind for tests/fuzz/stores.cpp to begin with, each behind the byte that
chooses it."""

import sys
from pathlib import Path

PAGE, FAILURE, ADDRESS, ENDPOINT, PROFILES, AZURE, HUB, GOOGLE, HUB_ADDRESS, ENCODED = range(10)

LIST = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>'
    "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><NextContinuationToken>1ueG=</NextContinuationToken>"
    "<Contents><Key>a%2Bb+c.tar</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified><ETag>&quot;fba9&quot;</ETag>"
    "<Size>5368709120</Size></Contents><Contents><Key>d</Key><Size>0</Size></Contents></ListBucketResult>"
)
SEEDS = {
    "page": (PAGE, LIST),
    "page_last": (PAGE, "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"),
    "failure": (FAILURE, "<Error><Code>AccessDenied</Code><Message>Access Denied</Message><Region>eu-west-1</Region></Error>"),
    "address": (ADDRESS, "s3://my.bucket/train/a b/*.tar"),
    "address_plain": (ADDRESS, "s3://bucket"),
    "endpoint": (ENDPOINT, "http://localhost:9000/below/"),
    "endpoint_ipv6": (ENDPOINT, "https://[::1]:443"),
    "profiles": (PROFILES, "[default]\naws_access_key_id = A ; b\n\taws_secret_access_key=s\ns3 =\n  region = x\nregion=eu-west-1\n"),
    "profiles_role": (PROFILES, '# c\n[profile "default"]\r\nrole_arn = x\r\n[default]\nsso_session = y\n'),
    "azure": (AZURE, "<EnumerationResults><Blobs><Blob><Name Encoded='true'>a%2Fb</Name><Properties><Content-Length>7</Content-Length>"
              "<Etag>0x8D</Etag></Properties></Blob></Blobs><NextMarker>2</NextMarker></EnumerationResults>"),
    "hub": (HUB, '{"sha":"' + "a1" * 20 + '","siblings":[{"rfilename":"a\\u0062/c","size":5,"lfs":{"size":5}}],"tags":[]}'),
    "google": (GOOGLE, '{"access_token":"ya29.x","expires_in":3599,"token_type":"Bearer"}'),
    "hub_address": (HUB_ADDRESS, "hf://datasets/owner/name@refs/convert/parquet/data/train-*.parquet"),
    "encoded": (ENCODED, "a%2Bb+%25"),
}

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, (chosen, text) in SEEDS.items():
    (folder / name).write_bytes(bytes([chosen]) + text.encode())
