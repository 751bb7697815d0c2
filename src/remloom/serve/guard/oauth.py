"""Access tokens of an OAuth 2.1 issuer, which are taken beside API keys where one is set up."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from ...errors import AuthenticationError, ForbiddenError, MissingExtraError, SettingsError
from ...settings import Settings, split_list
from ...tenancy.api_keys import SCOPES, Scope
from ..caller import Caller
from .origins import is_loopback

METADATA = "/.well-known/oauth-protected-resource"
# of public keys alone: a shared secret would let those who check tokens make them
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "ES512", "EdDSA")
CLAIMS = ("exp", "iss", "aud", "sub")
LEEWAY = 30  # seconds that clocks may differ
FETCHING = 10  # seconds for the issuer's keys to arrive
REFRESHED = 60  # seconds between two fetches for the sake of an unknown key
KEPT = 300  # seconds that the issuer's keys are kept
_UNSAFE = re.compile(r"[^A-Za-z0-9._@|:/+-]")
_LONGEST_SUBJECT = 100  # characters


def open_tokens(settings: Settings) -> AccessTokens | None:
    """Prepare for access tokens; None where no issuer is set up."""
    needed = ("serve_oauth_issuer", "serve_oauth_jwks_url", "serve_oauth_resource")
    missing = [name for name in needed if not getattr(settings, name)]
    if len(missing) == len(needed):
        return None
    if missing:
        raise SettingsError(
            f"OAuth needs {', '.join(needed)}, and {missing[0]} is not set",
            setting=missing[0],
            remedy="set all of them, or none",
        )
    for name in needed:
        _check_url(name, getattr(settings, name))
    return AccessTokens(settings)


class AccessTokens:
    """Checks access tokens, and says where to get one.

    Args:
        settings: the issuer, the URL of its keys, the URL of this server as tokens name it, the
            claim with the tenant, and which of the issuer's scopes is which.
    """

    def __init__(self, settings: Settings) -> None:
        try:
            from jwt import PyJWKClient
        except ImportError:
            raise MissingExtraError("OAuth", "oauth") from None
        self._issuer = settings.serve_oauth_issuer
        self._resource = settings.serve_oauth_resource
        self._tenant_claim = settings.serve_oauth_tenant_claim
        self._scopes = _scope_map(settings.serve_oauth_scopes)
        self._keys = PyJWKClient(
            settings.serve_oauth_jwks_url,
            timeout=FETCHING,
            lifespan=KEPT,
            cooldown_duration=REFRESHED,
        )

    @property
    def metadata_url(self) -> str:
        parts = urlsplit(self._resource)
        return f"{parts.scheme}://{parts.netloc}{METADATA}{parts.path.rstrip('/')}"

    def metadata(self) -> dict[str, Any]:
        return {
            "resource": self._resource,
            "resource_name": "Remloom",
            "authorization_servers": [self._issuer],
            "bearer_methods_supported": ["header"],
            "scopes_supported": sorted(self._scopes),
        }

    def check(self, token: str) -> Caller:
        """Find who a token was given to. May fetch the issuer's keys."""
        import jwt

        try:
            claims = jwt.decode(
                token,
                self._keys.get_signing_key_from_jwt(token),
                algorithms=ALGORITHMS,
                audience=self._resource,
                issuer=self._issuer,
                leeway=LEEWAY,
                options={"require": list(CLAIMS)},
            )
        except jwt.PyJWKClientConnectionError:
            raise AuthenticationError(
                "the keys of the issuer cannot be fetched, so no token can be checked",
                remedy="try again later, or use an API key",
            ) from None
        # PyJWT converts the parts of a token as they come: int([]) of a time, and the like
        except (
            jwt.PyJWTError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError,
            ValueError,
        ) as error:  # fmt: skip
            raise AuthenticationError(
                f"the access token is not valid: {error}", remedy="get another of the issuer"
            ) from None
        return self._caller(claims)

    def _caller(self, claims: dict[str, Any]) -> Caller:
        tenant = claims.get(self._tenant_claim)
        if not isinstance(tenant, str) or not tenant:
            raise ForbiddenError(
                f"the access token names no tenant: it has no claim {self._tenant_claim!r}",
                remedy="have the issuer add it (setting serve_oauth_tenant_claim)",
            )
        granted = claims.get("scope", claims.get("scp", ""))
        names = granted.split() if isinstance(granted, str) else granted
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ForbiddenError(
                "the scope of the access token is neither a text nor a list of texts",
                remedy='have the issuer write it like "memory.read memory.write"',
            )
        scopes = frozenset(self._scopes[name] for name in names if name in self._scopes)
        if not scopes:
            raise ForbiddenError(
                "the access token gives no scope that this server knows",
                remedy=f"ask the issuer for {', '.join(sorted(self._scopes))}",
            )
        subject = _UNSAFE.sub("_", str(claims["sub"]))[:_LONGEST_SUBJECT]
        return Caller(key_id=f"oauth:{subject}", tenant=tenant, scopes=scopes)


def _scope_map(text: str) -> dict[str, Scope]:
    """Read "memory.read=read, memory.write=write"; without, the scopes have our names.

    >>> _scope_map("memory.read=read")
    {'memory.read': 'read'}
    """
    known: dict[str, Scope] = {scope: scope for scope in SCOPES}
    if not text.strip():
        return known
    scopes: dict[str, Scope] = {}
    for pair in split_list(text):
        theirs, _, ours = pair.partition("=")
        if not theirs.strip() or ours.strip() not in known:
            raise SettingsError(
                f"{pair!r:.100} does not say which scope is which",
                setting="serve_oauth_scopes",
                remedy="write it like memory.read=read, memory.write=write; ours are "
                + ", ".join(SCOPES),
            )
        scopes[theirs.strip()] = known[ours.strip()]
    return scopes


def _check_url(name: str, url: str) -> None:
    parts = urlsplit(url)
    is_safe = parts.scheme == "https" or (
        parts.scheme == "http" and is_loopback(parts.hostname or "")
    )
    if not is_safe or not parts.netloc:
        raise SettingsError(
            f"setting {name} is {url!r:.200}, which anybody on the way could change",
            setting=name,
            remedy="give an https:// URL",
        )
