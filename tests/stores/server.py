"""A web server that has faults on request. server.py FOLDER: serves the files of FOLDER on a free port, which it prints.

/KIND/NAME is FOLDER/NAME, and KIND says what goes wrong (see FAULTS). /log is what was asked so far, as JSON; /again forgets it.
"""

import datetime
import gzip
import http.server
import json
import socket
import socketserver
import sys
import threading
import time
import urllib.parse
import xml.sax.saxutils
import zlib
from pathlib import Path

FOLDER = Path(sys.argv[1])
LOCK = threading.Lock()
NARROW = threading.Lock()
SEEN = {}  # requests of each path
LOG = {"requests": 0, "connections": 0, "bytes": 0, "headers": []}
BUSY_UNTIL = [0.0]
KEYS = {"made": 0, "seconds": 3}  # and the token of each, with its end


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        with LOCK:
            LOG["connections"] += 1

    def text(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        self.do_GET()

    def do_POST(self):
        self.form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        self.do_GET()

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/log":
            with LOCK:
                return self.text(200, json.dumps({**LOG, **SEEN}).encode())
        if path == "/again":
            with LOCK:
                SEEN.clear()
                LOG.update(requests=0, connections=0, bytes=0, headers=[])
            return self.text(200, b"")
        kind, _, name = urllib.parse.unquote(path[1:]).partition("/")
        with LOCK:
            LOG["requests"] += 1
            LOG["headers"].append(dict(self.headers))
            times = SEEN[path] = SEEN.get(path, 0) + 1
        if "Range" in self.headers and ("comp=list" in self.path or "list-type" in self.path):
            return self.text(400, b"a part of a list")
        try:
            getattr(self, "serve_" + kind)(FOLDER / name, times)
        except OSError:
            self.close_connection = True

    def range_of(self, size):
        first, last = self.headers.get("Range", f"bytes=0-{size - 1}").split("=")[1].split("-")
        return int(first), min(int(last), size - 1)

    def serve_ok(self, file, times, cut=None, etag=None, status=206, shift=0, pause=0.0, silent_from=None):
        if not file.is_file():
            return self.text(404, b"nothing here")
        data = file.read_bytes()
        first, last = self.range_of(len(data))
        if first >= len(data):
            return self.text(416, b"", Content_Range=f"bytes */{len(data)}")
        part = data[first : last + 1]
        self.send_response(status)
        self.send_header("Content-Range", f"bytes {first + shift}-{last + shift}/{len(data)}")
        if etag != "none":
            self.send_header("ETag", etag or f'"{zlib.crc32(data):x}"')
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        if pause:
            time.sleep(pause)
        if silent_from is not None:
            self.wfile.write(part[:silent_from])
            self.wfile.flush()
            time.sleep(3600)
        self.wfile.write(part if cut is None else part[:cut])
        with LOCK:
            LOG["bytes"] += len(part)
        if cut is not None:
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def serve_part200(self, file, times):
        self.serve_ok(file, times, status=200)

    def serve_late(self, file, times):
        time.sleep(0.02)
        self.serve_ok(file, times)

    def serve_narrow(self, file, times):  # one after the other, however many are under way
        with NARROW:
            time.sleep(0.002)
        self.serve_ok(file, times)

    def serve_busy(self, file, times):  # every other request
        if times % 2 == 1:
            return self.text(503, b"busy", Retry_After="0")
        self.serve_ok(file, times)

    def serve_storm(self, file, times, seconds=2, pause=0.0, **headers):  # from the first request on, for a while
        with LOCK:
            if BUSY_UNTIL[0] == 0:
                BUSY_UNTIL[0] = time.monotonic() + seconds
            busy = time.monotonic() < BUSY_UNTIL[0]
        if busy:
            time.sleep(pause)
            return self.text(503, b"slow down", **headers)
        self.serve_ok(file, times)

    def serve_slow_storm(self, file, times):
        self.serve_storm(file, times, seconds=4, pause=0.15)

    def serve_short_storm(self, file, times):  # shorter than it says
        self.serve_storm(file, times, Retry_After="20")

    def serve_cut(self, file, times):  # the first answer to each path breaks off
        self.serve_ok(file, times, cut=1000 if times == 1 else None)

    def serve_reset(self, file, times):
        if times == 1:
            self.close_connection = True
            return self.connection.shutdown(socket.SHUT_RDWR)
        self.serve_ok(file, times)

    def serve_norange(self, file, times):
        self.text(200, file.read_bytes())

    def serve_whole_cut(self, file, times):  # no ranges, and the second answer breaks off
        data = file.read_bytes()
        if times != 2:
            return self.text(200, data)
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: 2 << 20])
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def serve_strict(self, file, times):  # a range must end within the object
        size = file.stat().st_size
        if int(self.headers["Range"].split("-")[1]) >= size:
            return self.text(416, b"", Content_Range=f"bytes */{size}")
        self.serve_ok(file, times)

    def serve_shifted(self, file, times):
        self.serve_ok(file, times, shift=1)

    def serve_nosay(self, file, times):  # a part, and not which
        data = file.read_bytes()
        first, last = self.range_of(len(data))
        self.text(206, data[first : last + 1])

    def serve_unsized(self, file, times):  # a part of something whose length it doesn't say
        data = file.read_bytes()
        first, last = self.range_of(len(data))
        self.text(206, data[first : last + 1], Content_Range=f"bytes {first}-{last}/*")

    def serve_changing(self, file, times):
        self.serve_ok(file, times, etag=f'"{times}"')

    def serve_packed(self, file, times):  # compressed on the way, unless the client says that it takes none
        data = file.read_bytes()
        if self.headers.get("Accept-Encoding") == "identity":
            return self.serve_ok(file, times)
        self.text(200, gzip.compress(data), Content_Encoding="gzip")

    def serve_encoded(self, file, times):  # stored compressed, with a header that says so
        self.text(200, gzip.compress(file.read_bytes()), Content_Encoding="gzip")

    def serve_chunked_name(self, file, times):  # an encoding that changes no byte
        self.text(200, file.read_bytes(), Content_Encoding="aws-chunked")

    def serve_undated(self, file, times):
        self.serve_ok(file, times, etag="none")

    def serve_repeating(self, file, times):  # a bucket of S3 whose list has no end
        page = "<IsTruncated>true</IsTruncated><NextContinuationToken>next</NextContinuationToken>"
        self.text(200, f"<ListBucketResult>{page}<Contents><Key>a</Key><Size>1</Size></Contents></ListBucketResult>".encode())

    def serve_renewing(self, file, times):  # one whose keys are replaced after the first page
        new = "[default]\naws_access_key_id = AKIDNEW\naws_secret_access_key = newSECRET\n"
        (FOLDER / "credentials").write_text(new)
        if times == 2 and "AKIDNEW" not in self.headers["Authorization"]:
            return self.text(403, b"an old key")
        more = "true</IsTruncated><NextContinuationToken>2</NextContinuationToken>" if times == 1 else "false</IsTruncated>"
        page = f"<IsTruncated>{more}<Contents><Key>{times}</Key><Size>1</Size></Contents>"
        self.text(200, f"<ListBucketResult>{page}</ListBucketResult>".encode())

    def serve_empty(self, file, times):  # one whose pages name no object
        page = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{times}</NextContinuationToken>"
        self.text(200, f"<ListBucketResult>{page}</ListBucketResult>".encode())

    def serve_long(self, file, times):  # one of a page that is too long
        self.text(200, b"<ListBucketResult>" + b" " * (17 << 20) + b"</ListBucketResult>")

    def serve_hang(self, file, times):
        time.sleep(3600)

    def serve_stuck(self, file, times, one_in=100):  # one request in 100 gets no answer
        with LOCK:
            stuck = LOG["requests"] % one_in == 0
        if stuck:
            time.sleep(3600)
        self.serve_ok(file, times)

    def serve_once(self, file, times):  # the first request of each path gets a quarter of its answer
        self.serve_ok(file, times, silent_from=file.stat().st_size // 4 if times == 1 else None)

    def serve_lost(self, file, times):  # the first two requests of each path get no answer
        if times <= 2:
            time.sleep(3600)
        self.serve_ok(file, times)

    def serve_cdn(self, file, times):  # each request comes to another machine
        self.serve_ok(file, times, etag=f'"machine {times}"')

    # ---- services that give keys, each for a few seconds, and a bucket that takes the last two of them

    def new_keys(self, kind):
        with LOCK:
            number = KEYS["made"] = KEYS["made"] + 1
            KEYS[f"AKID{kind}{number}"] = (f"token{number}", time.time() + KEYS["seconds"])
        ends = datetime.datetime.fromtimestamp(time.time() + KEYS["seconds"], datetime.timezone.utc)
        return f"AKID{kind}{number}", f"secret{number}", f"token{number}", ends.strftime("%Y-%m-%dT%H:%M:%SZ")

    def keys_as_json(self, kind):
        access, secret, token, ends = self.new_keys(kind)
        more = {"Code": "Success", "Type": "AWS-HMAC", "Nested": {"AccessKeyId": "no"}, "List": ["Token", {}]}
        return json.dumps({**more, "AccessKeyId": access, "SecretAccessKey": secret, "Token": token, "Expiration": ends})

    def serve_key_seconds(self, file, times):  # /key_seconds/N: so long keys live from now on
        KEYS["seconds"] = int(file.name)
        self.text(200, b"")

    def serve_imds(self, file, times):
        path = self.path.partition("/imds")[2]
        if path == "/latest/api/token" and self.command == "PUT":
            if "X-aws-ec2-metadata-token-ttl-seconds" not in self.headers:
                return self.text(400, b"")
            return self.text(200, b"session")
        if self.headers.get("X-aws-ec2-metadata-token") != "session":
            return self.text(401, b"")
        base = "/latest/meta-data/iam/security-credentials/"
        if path == base:
            return self.text(200, b"my role\n")
        if path == base + "my%20role":
            return self.text(200, self.keys_as_json("IMDS").encode())
        self.text(404, b"")

    def serve_ecs(self, file, times):
        if self.headers.get("Authorization") != "open sesame":
            return self.text(403, b"")
        if times % 3 == 2:  # now and then it is busy
            return self.text(500, b"")
        self.text(200, self.keys_as_json("ECS").encode())

    def serve_sts(self, file, times):
        expected = {"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": "arn:aws:iam::1:role/r"}
        if self.command != "POST" or not expected.items() <= self.form.items() or self.form["WebIdentityToken"] != "jwt":
            return self.text(400, b"<ErrorResponse><Error><Code>ValidationError</Code></Error></ErrorResponse>")
        access, secret, token, ends = self.new_keys("STS")
        result = (f"<Credentials><AccessKeyId>{access}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey>"
                  f"<SessionToken>{token}</SessionToken><Expiration>{ends}</Expiration></Credentials>")
        name = "AssumeRoleWithWebIdentityRes"
        xmlns = 'xmlns="https://sts.amazonaws.com/doc/2011-06-15/"'
        self.text(200, f"<{name}ponse {xmlns}><{name}ult>{result}</{name}ult></{name}ponse>".encode())

    def serve_process(self, file, times):  # for the program that credential_process names
        self.text(200, self.keys_as_json("PROC").replace('"Token"', '"SessionToken"').encode())

    def serve_bucket(self, file, times):
        access = self.headers.get("Authorization", "").partition("Credential=")[2].partition("/")[0]
        token, ends = KEYS.get(access, ("", 0))
        if token == "" or self.headers.get("x-amz-security-token") != token or time.time() > ends:
            return self.text(403, b"<Error><Code>ExpiredToken</Code></Error>")
        self.serve_ok(file, times)

    def serve_fast_clock(self, file, times):  # S3, whose clock is an hour ahead
        now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        signed = datetime.datetime.strptime(self.headers["x-amz-date"], "%Y%m%dT%H%M%S%z")
        if abs(now - signed) < datetime.timedelta(minutes=15):
            return self.serve_ok(file, times)
        body = b"<Error><Code>RequestTimeTooSkewed</Code><Message>The difference is too large.</Message></Error>"
        self.send_response_only(403)
        self.send_header("Date", now.strftime("%a, %d %b %Y %H:%M:%S GMT"))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    # ---- stores of other makers, two names a page; each refuses what its maker refuses

    def page_of(self, folder, prefix, start):
        """Two (key, file) from the start on, and where the next page starts, or None."""
        keys = sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file())
        keys = [k for k in keys if k.startswith(prefix)]
        first = int(start or 0)
        return [(k, folder / k) for k in keys[first : first + 2]], first + 2 if first + 2 < len(keys) else None

    def etag(self, file):
        return f'"{zlib.crc32(file.read_bytes()):x}"'

    def serve_gcs(self, file, times):  # Google's: /gcs/BUCKET/KEY, by a token
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        ends = KEYS.get(token, ("", 0))[1]
        if token != "sesame" and time.time() > ends:
            return self.text(401, b"<Error><Code>AuthenticationRequired</Code><Message>no token</Message></Error>")
        if any(name.lower().startswith("x-amz-") for name in self.headers):
            return self.text(400, b"<Error><Code>ExcessHeaderValues</Code></Error>")
        query = dict(urllib.parse.parse_qsl(self.path.partition("?")[2], keep_blank_values=True))
        if query.get("list-type") != "2":
            return self.serve_ok(file, times)
        page, then = self.page_of(file, query["prefix"], query.get("continuation-token"))
        rows = [f"<Contents><Key>{urllib.parse.quote(k)}</Key><Size>{f.stat().st_size}</Size>"
                f"<ETag>{self.etag(f)}</ETag></Contents>" for k, f in page]
        more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{then}</NextContinuationToken>"
        end = more if then else "<IsTruncated>false</IsTruncated>"
        body = f"<ListBucketResult><EncodingType>url</EncodingType>{''.join(rows)}{end}</ListBucketResult>"
        self.text(200, body.encode())

    def serve_computeMetadata(self, file, times):  # of a virtual machine at Google
        if self.headers.get("Metadata-Flavor") != "Google":
            return self.text(403, b"")
        if file != FOLDER / "v1/instance/service-accounts/default/token":
            return self.text(404, b"")
        with LOCK:
            number = KEYS["made"] = KEYS["made"] + 1
            KEYS[f"ya29.{number}"] = ("", time.time() + KEYS["seconds"])
        answer = {"access_token": f"ya29.{number}", "expires_in": KEYS["seconds"], "token_type": "Bearer"}
        self.text(200, json.dumps(answer).encode())

    def serve_az(self, file, times):  # Azure's: /az/ACCOUNT/CONTAINER/BLOB, by a shared access signature
        query = dict(urllib.parse.parse_qsl(self.path.partition("?")[2], keep_blank_values=True))
        few = query.get("sig") == "few" and LOG["requests"] <= 4  # is good for some requests
        fault = None if query.get("sig") == "a+/b=" or few else "AuthenticationFailed"
        if query.get("se", "") < datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"):
            fault = "AuthenticationFailed"
        if "x-ms-version" not in self.headers:
            fault = "MissingRequiredHeader"
        if fault:
            return self.text(403, f"\ufeff<?xml version='1.0'?><Error><Code>{fault}</Code></Error>".encode())
        if query.get("comp") != "list":
            return self.serve_ok(file, times, etag=self.etag(file) if file.is_file() else None)
        if query.get("restype") != "container":
            return self.text(400, b"<Error><Code>InvalidQueryParameterValue</Code></Error>")
        page, then = self.page_of(file, query.get("prefix", ""), query.get("marker"))
        rows = []
        for k, f in page:
            quoted = urllib.parse.quote(k) if "\x01" in k else xml.sax.saxutils.escape(k)
            name = f'<Name Encoded="true">{quoted}</Name>' if "\x01" in k else f"<Name>{quoted}</Name>"
            size = f"<Content-Length>{f.stat().st_size}</Content-Length>"
            etag = self.etag(f).strip('"')
            rows.append(f"<Blob>{name}<Properties>{size}<Etag>{etag}</Etag></Properties></Blob>")
        folder = "<Blob><Name>train</Name><Properties><ResourceType>directory</ResourceType></Properties></Blob>"
        body = f"<Blobs>{folder}{''.join(rows)}</Blobs><NextMarker>{then or ''}</NextMarker>"
        self.text(200, f"\ufeff<EnumerationResults>{body}</EnumerationResults>".encode())

    def serve_hub(self, file, times):  # Hugging Face's, of one data set with a commit for each of its branches
        commits = {"main": "a" * 40, "refs/convert/parquet": "b" * 40, "v1.0": "c" * 40}
        path = self.path.partition("?")[0].removeprefix("/hub")
        query = urllib.parse.parse_qs(self.path.partition("?")[2])
        if path.startswith(("/api/datasets/me/gated", "/datasets/me/gated")):
            path = path.replace("/me/gated", "/me/set")
            if self.headers.get("Authorization") != "Bearer hf_sesame":
                return self.text(401, b'{"error":"Access to dataset me/gated is restricted."}')
        if path.startswith("/api/datasets/me/set/revision/"):
            revision = urllib.parse.unquote(path.split("/revision/")[1])
            commit = commits.get(revision, revision)
            if commit not in commits.values():
                return self.text(404, json.dumps({"error": "Invalid rev id: " + revision}).encode())
            answer = {"_id": "1", "sha": commit, "cardData": {"siblings": [{"rfilename": "no"}]}}
            if query.get("blobs") == ["true"]:
                files = [f for f in sorted((FOLDER / commit).rglob("*")) if f.is_file()]
                answer["siblings"] = [{"rfilename": str(f.relative_to(FOLDER / commit)), "size": f.stat().st_size,
                                       "lfs": {"size": 7, "sha256": "0"}} for f in files]
            return self.text(200, json.dumps(answer).encode())
        if not path.startswith("/datasets/me/set/resolve/"):
            return self.text(404, b'{"error":"Repository not found"}')
        commit, _, name = urllib.parse.unquote(path.split("/resolve/")[1]).partition("/")
        if not (FOLDER / commit / name).is_file():
            return self.text(404, b"Entry not found")
        if (FOLDER / commit / name).stat().st_size < 2000:  # on the same host, for those who may
            return self.text(307, b"", Location=f"/hub_small/{commit}/" + urllib.parse.quote(name))
        to = f"http://localhost:{self.server.server_address[1]}/hub_content/{commit}/" + urllib.parse.quote(name)
        with LOCK:
            number = KEYS["made"] = KEYS["made"] + 1
            KEYS[f"signature{number}"] = ("", time.time() + KEYS["seconds"])
        self.text(302, b"Found. Redirecting to " + to.encode(), Location=f"{to}?X-Amz-Signature=signature{number}")

    def serve_hub_small(self, file, times):
        if self.headers.get("Authorization", "Bearer hf_sesame") != "Bearer hf_sesame":
            return self.text(401, b"")
        self.serve_ok(file, times)

    def serve_hub_content(self, file, times):  # another host, of several machines, with signatures that end
        if "Authorization" in self.headers:
            return self.text(400, b"<Error><Code>InvalidArgument</Code><Message>Only one auth</Message></Error>")
        signature = self.path.partition("X-Amz-Signature=")[2]
        if time.time() > KEYS.get(signature, ("", 0))[1]:
            return self.text(403, b"<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>")
        self.serve_ok(file, times, etag=f'"machine {times}"')

    def serve_unsteady(self, file, times):
        self.serve_stuck(file, times, 22)

    def serve_drip(self, file, times):  # a byte now and then
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        for _ in range(100000):
            self.wfile.write(b"x")
            self.wfile.flush()
            time.sleep(0.1)

    def serve_slow_headers(self, file, times):
        for byte in b"HTTP/1.1 206 Partial Content\r\nX-More: " + b"x" * 100000:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(0.1)

    def serve_headers(self, file, times):  # without an end
        self.send_response(200)
        self.flush_headers()
        while True:
            self.wfile.write(b"X-More: " + b"x" * 1000 + b"\r\n")

    def serve_refusal(self, file, times):  # gigabytes of what is wrong
        self.send_response(403)
        self.send_header("Content-Length", str(1 << 42))
        self.end_headers()
        while True:
            self.wfile.write(b"no " * 10000)

    def serve_endless(self, file, times):  # the part that is asked for, and more without an end
        data = file.read_bytes()
        first, last = self.range_of(len(data))
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data[first : last + 1])
        while True:
            self.wfile.write(b"more" * 10000)

    def serve_later(self, file, times):
        self.text(503, b"later", Retry_After="3600")

    def serve_hops(self, file, times):  # fewer than curl's own limit
        if times <= 8:
            return self.text(302, b"", Location=self.path)
        self.serve_ok(file, times)

    def serve_to_ftp(self, file, times):
        self.text(302, b"", Location="ftp://127.0.0.1:1/a.bin")

    def serve_circle(self, file, times):
        self.text(302, b"", Location=self.path)

    def serve_moved(self, file, times):
        self.text(302, b"", Location="/ok/" + file.name)

    def serve_away(self, file, times):  # to another host, which must not see who asks
        port = self.server.server_address[1]
        self.text(302, b"", Location=f"http://localhost:{port}/other_host/{file.name}")

    def serve_other_host(self, file, times):
        if "Authorization" in self.headers:
            return self.text(400, b"a header of another host")
        self.serve_ok(file, times)

    def serve_signed(self, file, times):
        to = "/ok/" + file.name + "?signature=s3cret"
        self.text(302, f"Found. Redirecting to {to}".encode(), Location=to)

    def serve_id(self, file, times):  # /id/get?id=NAME
        self.serve_ok(FOLDER / self.path.partition("?id=")[2].partition("&")[0], times)

    def serve_payer(self, file, times):  # a bucket of S3 whose readers pay, which they sign
        signed = self.headers.get("Authorization", "").partition("SignedHeaders=")[2].partition(",")[0].split(";")
        mine = [name.lower() for name in self.headers if name.lower().startswith("x-amz-")]
        if "x-amz-request-payer" not in mine or not set(mine) <= set(signed):
            return self.text(403, b"not signed")
        self.serve_ok(file, times)

    def serve_elsewhere(self, file, times):  # a bucket of another region
        self.text(301, b"<Error><Code>PermanentRedirect</Code></Error>", x_amz_bucket_region="eu-west-1")

    def serve_secret(self, file, times):
        if self.headers.get("Authorization") != "Bearer open sesame":
            return self.text(401, b"who are you?")
        self.serve_ok(file, times)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256
    allow_reuse_address = True

    def handle_error(self, *_):
        pass  # a client that goes away is no fault here


with Server(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
