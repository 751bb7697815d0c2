"""The pages for people: static files that talk to the REST API of the same server, and to nothing
else.

There is no build step: what is in `static/` is what a browser loads. `vendor/` holds the libraries
with their licences and checksums; `python -m bench.vendor` fetches them.
"""

from .routes import CONTENT_SECURITY_POLICY, STATIC, mount

__all__ = ["CONTENT_SECURITY_POLICY", "STATIC", "mount"]
