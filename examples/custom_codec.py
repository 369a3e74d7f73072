"""Keep the key in a key service: a codec of your own seals and opens the state.

The service wraps one data key; every token after that is local work. Here a small class stands in for the service.
"""

import base64
import os
import sys

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.keywrap import aes_key_unwrap, aes_key_wrap

from mcp.server.mcpserver import Context, InvalidRequestState, MCPServer, RequestStateSecurity
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

VERSION = "vault1:"


class KeyService:
    """Stands in for a key management service: it never shows its own key, it only wraps and unwraps those of others."""

    def __init__(self) -> None:
        self._master = os.urandom(32)

    def wrap(self, key: bytes) -> bytes:
        return aes_key_wrap(self._master, key)

    def unwrap(self, wrapped: bytes) -> bytes:
        return aes_key_unwrap(self._master, wrapped)


class VaultCodec:
    """Two methods are all it takes: bytes to text, and back; a token of somebody else is `InvalidRequestState`."""

    def __init__(self, service: KeyService, wrapped_key: bytes) -> None:
        self._cipher = ChaCha20Poly1305(service.unwrap(wrapped_key))

    def seal(self, payload: bytes) -> str:
        nonce = os.urandom(12)
        return VERSION + base64.b64encode(nonce + self._cipher.encrypt(nonce, payload, VERSION.encode())).decode()

    def unseal(self, token: str) -> bytes:
        version, colon, body = token.partition(":")
        if version + colon != VERSION:
            raise InvalidRequestState("not one of ours")
        try:
            raw = base64.b64decode(body, validate=True)
            if base64.b64encode(raw).decode() != body:  # one payload, one spelling
                raise ValueError("another spelling of the same bytes")
            return self._cipher.decrypt(raw[:12], raw[12:], VERSION.encode())
        except (ValueError, InvalidTag) as error:
            raise InvalidRequestState("altered, or sealed with another key") from error


def make_server(codec: VaultCodec) -> MCPServer:
    """Build a server whose state is sealed by that codec; expiry, caller and arguments are still checked by the SDK."""
    server = MCPServer("Archive", request_state_security=RequestStateSecurity(codec=codec))

    @server.tool()
    async def shred(document: str, ctx: Context) -> str | InputRequiredResult:
        """Destroy a document, if the user really means it."""
        answer = (ctx.input_responses or {}).get("sure")
        if not isinstance(answer, ElicitResult):
            question = ElicitRequest(
                params=ElicitRequestFormParams(
                    message=f"Destroy {document!r} for ever?",
                    requested_schema={"type": "object", "properties": {"sure": {"type": "boolean"}}},
                )
            )
            return InputRequiredResult(input_requests={"sure": question}, request_state=f"asked about {document}")
        sure = answer.action == "accept" and bool((answer.content or {}).get("sure"))
        return f"{document} is {'gone' if sure else 'still there'} ({ctx.request_state})."

    return server


service = KeyService()
server = make_server(VaultCodec(service, service.wrap(ChaCha20Poly1305.generate_key())))

if __name__ == "__main__":
    server.run("streamable-http", port=int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
