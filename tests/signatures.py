"""Whether a request is signed by AWS Signature Version 4, computed here by the published algorithm."""

import hashlib
import hmac
import re
from datetime import datetime, timedelta, timezone
from urllib.parse import quote, unquote

HEADER = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})"
)


def encoded(text):
    return quote(text, safe="-_.~")


def flaw(signed, method, target, headers, body):
    """What is wrong with a request's signature for `signed` {"key", "secret", "token", "name", "region"}; nothing if it is right."""
    found = HEADER.fullmatch(headers.get("Authorization", ""))
    if not found:
        return "MissingAuthenticationToken: it is not signed"
    key, day, region, service, names, signature = found.groups()
    names = names.split(";")
    if key != signed["key"] or headers.get("X-Amz-Security-Token") != signed.get("token"):
        return "UnrecognizedClientException: it is somebody else's"
    if (service, region) != (signed["name"], signed["region"]):
        return f"SignatureDoesNotMatch: it is for {service} in {region}"
    moment = headers.get("X-Amz-Date", "")
    age = datetime.now(timezone.utc) - datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
    if abs(age) > timedelta(minutes=5) or not moment.startswith(day):
        return "RequestTimeTooSkewed: it is of another time"
    lacking = [name for name in map(str.lower, headers) if name == "host" or name.startswith(("x-amz-", "x-iceberg-"))]
    if lacking := set(lacking) - set(names):
        return f"SignatureDoesNotMatch: {lacking} are not signed"
    digest = hashlib.sha256(body).hexdigest()
    if headers.get("X-Amz-Content-SHA256", digest) != digest:
        return "SignatureDoesNotMatch: it is of another body"
    path, _, query = target.partition("?")
    pairs = [pair.partition("=")[::2] for pair in query.split("&") if pair]
    pairs = sorted((encoded(unquote(name)), encoded(unquote(value))) for name, value in pairs)
    canonical = "\n".join([
        method,
        quote(path, safe="/-_.~"),
        "&".join(f"{name}={value}" for name, value in pairs),
        *(f"{name}:{' '.join(headers[name].split())}" for name in names),
        "",
        ";".join(names),
        digest,
    ])
    scope = f"{day}/{region}/{service}/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    own = f"AWS4{signed['secret']}".encode()
    for part in [day, region, service, "aws4_request", text]:
        own = hmac.digest(own, part.encode(), "sha256")
    if not hmac.compare_digest(own.hex(), signature):
        # As AWS does it: with the session's token, which is one of the headers.
        return f"SignatureDoesNotMatch: The Canonical String for this request should have been '{canonical}'"
    return None
