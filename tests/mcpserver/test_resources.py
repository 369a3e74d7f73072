"""Resources and templates: registering, listing, reading, failing."""

from __future__ import annotations

import base64
import logging
import threading
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import anyio.abc
import pytest
from pydantic import AnyUrl, Field, ValidationError

from mcp.client.client import Client
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver._resource_security import ResourceSecurity
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import (
    InvalidSignature,
    ResourceError,
    ResourceNotFoundError,
    ToolError,
    UnexpectedResourceError,
)
from mcp.server.mcpserver.resolve.markers import Resolve
from mcp.server.mcpserver.resources import (
    BinaryResource,
    DirectoryResource,
    FileResource,
    FunctionResource,
    HttpResource,
    Resource,
    ResourceManager,
    ResourceSecurityError,
    ResourceTemplate,
    TextResource,
)
from mcp.server.mcpserver.server import MCPServer
from mcp.server.mcpserver.utilities.types import Audio, File, Image
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.uri_template import InvalidUriTemplate
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Annotations,
    BlobResourceContents,
    Icon,
    ReadResourceResult,
    ResourcesCapability,
    TextResourceContents,
)
from tests.mcpserver.wire import Peer, connect


async def read(peer: Peer, uri: str) -> list[dict[str, Any]]:
    return (await peer.request("resources/read", {"uri": uri}))["contents"]


async def failure(peer: Peer, uri: str) -> MCPError:
    with pytest.raises(MCPError) as caught:
        await read(peer, uri)
    return caught.value


async def contents_of(value: Any, **options: Any) -> list[dict[str, Any]]:
    """Register a function that returns the value, and read it."""
    mcp = MCPServer("Lab")

    @mcp.resource("x://s", **options)
    async def f() -> Any:
        return value

    async with connect(mcp) as peer:
        return await read(peer, "x://s")


@pytest.mark.rule("RES-2", "RES-3", "MEDIA-10")
async def test_resources_and_templates_are_listed_apart() -> None:
    mcp = MCPServer("Lab")

    @mcp.resource(
        "x://r1",
        title="T",
        mime_type='text/html;profile="x"',
        icons=[Icon(src="https://i")],
        annotations=Annotations(audience=["user"], priority=0.5),
        meta={"k": 1},
    )
    def r1() -> str:
        """A resource."""
        return "<p>"

    @mcp.resource("x://t/{n}")
    def rt(n: str) -> str:
        return n

    async with connect(mcp) as peer:
        assert await peer.request("resources/list") == {
            "resources": [
                {
                    "name": "r1",
                    "title": "T",
                    "uri": "x://r1",
                    "description": "A resource.",
                    "mimeType": 'text/html;profile="x"',
                    "icons": [{"src": "https://i"}],
                    "annotations": {"audience": ["user"], "priority": 0.5},
                    "_meta": {"k": 1},
                }
            ]
        }
        assert await peer.request("resources/templates/list") == {
            "resourceTemplates": [
                {"name": "rt", "uriTemplate": "x://t/{n}", "description": "", "mimeType": "text/plain"}
            ]
        }
        assert await read(peer, "x://r1") == [
            {"uri": "x://r1", "mimeType": 'text/html;profile="x"', "text": "<p>", "_meta": {"k": 1}}
        ]
    assert [resource.name for resource in await mcp.list_resources()] == ["r1"]
    assert [template.name for template in await mcp.list_resource_templates()] == ["rt"]


@pytest.mark.rule("RES-1")
def test_a_decorator_without_a_uri_says_what_is_missing() -> None:
    def f() -> str:
        return ""

    assert MCPServer("Lab").resource("x://f")(f) is f
    with pytest.raises(TypeError) as caught:
        MCPServer("Lab").resource(f)  # pyright: ignore[reportArgumentType]
    assert str(caught.value) == (
        "The @resource decorator was used incorrectly. Did you forget to call it? "
        "Use @resource('uri') instead of @resource"
    )


@pytest.mark.rule("RES-1")
def test_a_malformed_template_is_refused_before_anything_is_decorated() -> None:
    with pytest.raises(InvalidUriTemplate, match="Unclosed expression at position 4"):
        MCPServer("Lab").resource("x://{a")


def with_context(ctx: Context) -> str:
    return ""


def with_parameter(a: str) -> str:
    return a


def resolved(a: Annotated[str, Resolve(lambda: "a")]) -> str:
    return a


def two(a: str, b: str = "") -> str:
    return a


@pytest.mark.rule("RES-4", "RES-5", "DEP-D1")
@pytest.mark.parametrize(
    ("uri", "fn", "kind", "text"),
    [
        (
            "x://c",
            with_context,
            ValueError,
            "Resource 'x://c' has no URI template variables, but the handler declares a Context parameter. "
            "Context injection for static resources is not supported. Add a template variable to the URI or remove "
            "the Context parameter.",
        ),
        (
            "x://c",
            with_parameter,
            ValueError,
            "Resource 'x://c' has no URI template variables, but the handler declares parameters {'a'}. "
            "Add matching {...} variables to the URI or remove the parameters.",
        ),
        (
            "x://c",
            resolved,
            InvalidSignature,
            "Resource 'x://c' has no URI template variables, but the handler declares Resolve(...) parameters. "
            "Resolvers for static resources are not supported. Add a template variable to the URI or remove the "
            "parameters.",
        ),
        (
            "x://{b}",
            with_parameter,
            ValueError,
            "Mismatch between URI parameters {'b'} and function parameters {'a'}",
        ),
        (
            "x://{a}",
            two,
            ValueError,
            "Mismatch between URI parameters {'a'} and function parameters {'a', 'b'}",
        ),
        (
            "x://q{?a}",
            with_parameter,
            ValueError,
            "Resource 'x://q{?a}': query parameter(s) ['a'] have no default value. A client may omit a {?...}/{&...} "
            "query parameter, so the matching handler parameter must declare a default.",
        ),
        ("x://c", lambda: "", ValueError, "You must provide a name for lambda functions"),
    ],
)
def test_functions_that_do_not_fit_their_uri_are_refused(uri: str, fn: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        MCPServer("Lab").resource(uri)(fn)
    assert str(caught.value) == text


@pytest.mark.rule("RES-7", "RES-D3", "CASE-54", "TROUBLE-26")
async def test_of_two_registrations_the_first_stays(caplog: pytest.LogCaptureFixture) -> None:
    mcp = MCPServer("Lab", resources=[TextResource(uri="x://s", text="first")])
    mcp.add_resource(TextResource(uri="x://s", text="second"))

    def f(a: str, b: str) -> str:
        return a

    mcp.resource("x://{a}/{b}", name="first")(f)
    mcp.resource("x://{a}/{b}", name="second")(f)

    async with connect(mcp) as peer:
        assert (await read(peer, "x://s"))[0]["text"] == "first"
    assert [template.name for template in await mcp.list_resource_templates()] == ["first"]
    assert [(record.name, record.levelno, record.getMessage()) for record in caplog.records] == [
        ("mcp.server.mcpserver.resources.resource_manager", logging.WARNING, "Resource already exists: x://s"),
        (
            "mcp.server.mcpserver.resources.resource_manager",
            logging.WARNING,
            "Resource template already exists: x://{a}/{b}",
        ),
    ]


@pytest.mark.rule("RES-8", "RES-D7")
async def test_resources_and_templates_can_be_removed() -> None:
    mcp = MCPServer("Lab", resources=[TextResource(uri="x://s", text="")])

    @mcp.resource("x://t/{a}")
    def f(a: str) -> str:
        return a

    mcp.remove_resource("x://s")
    mcp.remove_template("x://t/{a}")
    async with connect(mcp) as peer:
        assert await peer.request("resources/list") == {"resources": []}
        assert await peer.request("resources/templates/list") == {"resourceTemplates": []}
    with pytest.raises(ResourceNotFoundError, match="Unknown resource: x://s"):
        mcp.remove_resource("x://s")
    with pytest.raises(ResourceNotFoundError, match="Unknown resource template"):
        mcp.remove_template("x://t/{a}")


@pytest.mark.rule("RES-9")
async def test_a_ready_made_resource_is_named_by_its_uri() -> None:
    mcp = MCPServer("Lab", resources=[TextResource(uri="x://s", text="")])
    async with connect(mcp) as peer:
        assert (await peer.request("resources/list"))["resources"] == [
            {"name": "x://s", "uri": "x://s", "mimeType": "text/plain"}
        ]
    with pytest.raises(ValidationError, match="Either name or uri must be provided"):
        TextResource(uri="", text="")
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        TextResource(uri="x://s", text="", nosuch=1)  # pyright: ignore[reportCallIssue]


@pytest.mark.rule("RES-10", "RES-11")
async def test_uris_are_compared_exactly_and_static_resources_come_first() -> None:
    mcp = MCPServer("Lab")

    @mcp.resource("x://{a}")
    def first(a: str) -> str:
        return f"first {a}"

    @mcp.resource("x://{b}")
    def second(b: str) -> str:
        return f"second {b}"

    @mcp.resource("x://s")
    def static() -> str:
        return "static"

    async with connect(mcp) as peer:
        assert (await read(peer, "x://s"))[0]["text"] == "static"
        assert (await read(peer, "x://t"))[0]["text"] == "first t"
        for other in ("X://s", "x://s/", "x://s?q=1"):
            assert (await failure(peer, other)).message == f"Unknown resource: {other}"


@pytest.mark.rule("RES-12", "RES-13", "RES-D5", "CASE-76")
async def test_values_become_text_or_blob() -> None:
    entry = {"uri": "x://s", "mimeType": "text/plain"}
    assert await contents_of("hi") == [{**entry, "text": "hi"}]
    assert await contents_of({"é": None}) == [{**entry, "text": '{\n  "é": null\n}'}]
    assert await contents_of(None) == [{**entry, "text": "null"}]
    assert await contents_of([1]) == [{**entry, "text": "[\n  1\n]"}]
    assert await contents_of(b"\xff\x00") == [{"uri": "x://s", "mimeType": "application/octet-stream", "blob": "/wA="}]
    assert await contents_of(b"\xff\x00", mime_type="image/x", meta={"k": 1}) == [
        {"uri": "x://s", "mimeType": "image/x", "blob": "/wA=", "_meta": {"k": 1}}
    ]
    assert "object object at" in (await contents_of(object()))[0]["text"]


@pytest.mark.rule("RES-14", "RES-D2")
async def test_content_objects_say_by_themselves_what_they_are() -> None:
    part = TextResourceContents(uri="x://part", mime_type="text/markdown", text="t")
    blob = BlobResourceContents(uri="x://blob", blob="YQ==")
    shown = {"uri": "x://part", "mimeType": "text/markdown", "text": "t"}
    assert await contents_of(part) == [shown]
    assert await contents_of([part, blob]) == [shown, {"uri": "x://blob", "blob": "YQ=="}]
    assert await contents_of(ReadResourceResult(contents=[part])) == [shown]
    assert await contents_of(Image(data=b"a")) == [{"uri": "x://s", "mimeType": "image/png", "blob": "YQ=="}]
    assert await contents_of(Audio(data=b"a")) == [{"uri": "x://s", "mimeType": "audio/wav", "blob": "YQ=="}]
    assert await contents_of(File(data=b"t", uri="x://f.txt")) == [
        {"uri": "x://f.txt", "mimeType": "text/plain", "text": "t"}
    ]
    assert await contents_of([ReadResourceContents("t"), ReadResourceContents(b"a")]) == [
        {"uri": "x://s", "mimeType": "text/plain", "text": "t"},
        {"uri": "x://s", "mimeType": "application/octet-stream", "blob": "YQ=="},
    ]


@pytest.mark.rule("RES-6", "RES-15")
async def test_template_values_are_converted_to_the_annotations() -> None:
    mcp = MCPServer("Lab")

    @mcp.resource("x://t/{n}/{kind}/-{/rest*}{?limit}")
    def f(
        n: Annotated[int, Field(ge=1)],
        kind: Literal["a", "b"],
        rest: list[str],
        anything: Context[dict[str, Any]],
        limit: int = 10,
    ) -> str:
        return repr((n, kind, rest, limit, anything.request_context.method))

    @mcp.resource("y://{value}")
    def untyped(value: Any) -> str:
        return repr(value)

    @mcp.resource("z://{value}")
    def parsed(value: list[int]) -> str:
        return repr(value)

    async with connect(mcp) as peer:
        contents = await read(peer, "x://t/5/a/-/p/q?limit=3")
        assert contents[0]["text"] == "(5, 'a', ['p', 'q'], 3, 'resources/read')"
        assert (await read(peer, "y://5"))[0]["text"] == "'5'"
        assert (await failure(peer, "z://[1]")).code == INVALID_PARAMS


@pytest.mark.rule("RES-16")
async def test_sync_functions_run_in_a_thread() -> None:
    mcp = MCPServer("Lab")
    here = threading.get_ident()

    @mcp.resource("x://s")
    def static() -> bool:
        return threading.get_ident() != here

    @mcp.resource("x://{a}")
    def template(a: str) -> bool:
        return threading.get_ident() != here

    async with connect(mcp) as peer:
        assert (await read(peer, "x://s"))[0]["text"] == "true"
        assert (await read(peer, "x://t"))[0]["text"] == "true"


@pytest.mark.rule("RES-22")
async def test_the_author_of_a_file_resource_may_name_any_file(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.txt").write_text("outside", encoding="utf-8")
    (tmp_path / "inner" / "link.txt").symlink_to(tmp_path / "a.txt")
    for path in (tmp_path / "inner" / ".." / "a.txt", tmp_path / "inner" / "link.txt"):
        assert await FileResource(uri="x://f", path=path).read() == "outside"


@pytest.mark.rule("RES-18", "RES-19")
async def test_a_file_is_read_at_each_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfhi")
    resource = FileResource(uri="x://f", path=path)
    assert await resource.read() == "hi"
    path.write_text("changed", encoding="utf-8")
    assert await resource.read() == "changed"
    assert await FileResource(uri="x://f", path=path, encoding=None).read() == b"changed"


@pytest.mark.rule("RES-18")
@pytest.mark.parametrize(
    ("mime_type", "encoding"),
    [
        ("text/plain", "utf-8-sig"),
        ("TEXT/html", "utf-8-sig"),
        ("application/json", "utf-8-sig"),
        ("application/ld+json", "utf-8-sig"),
        ("image/svg+xml", "utf-8-sig"),
        ('text/html; Charset="latin-1"', "latin-1"),
        ("application/pdf", None),
        ("application/javascript", None),
    ],
)
def test_the_type_of_a_file_tells_its_encoding(mime_type: str, encoding: str | None) -> None:
    assert FileResource(uri="x://f", path=Path("/a"), mime_type=mime_type).encoding == encoding


@pytest.mark.rule("RES-19")
def test_paths_must_be_absolute_and_encodings_known() -> None:
    for kind in (FileResource, DirectoryResource):
        with pytest.raises(ValidationError, match="Path must be absolute"):
            kind(uri="x://f", path=Path("relative"))
    with pytest.raises(ValidationError, match="unknown encoding: zz"):
        FileResource(uri="x://f", path=Path("/a"), encoding="zz")
    with pytest.raises(ValidationError, match="'base64' is not a text encoding"):
        FileResource(uri="x://f", path=Path("/a"), encoding="base64")
    assert FileResource(uri="x://f", path=Path("/a"), encoding=None).encoding is None


@pytest.mark.rule("RES-20", "RES-D6")
async def test_a_directory_lists_its_files_in_order(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.md", "sub/d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    flat = DirectoryResource(uri="x://d", path=tmp_path)
    assert await flat.read() == '{\n  "files": [\n    "a.txt",\n    "b.txt",\n    "c.md"\n  ]\n}'
    assert flat.mime_type == "application/json"
    assert tmp_path / "sub" in flat.list_files()
    deep = DirectoryResource(uri="x://d", path=tmp_path, recursive=True, pattern="*.txt")
    assert [path.name for path in deep.list_files()] == ["a.txt", "b.txt", "d.txt"]
    assert '"sub/d.txt"' in await deep.read()
    with pytest.raises(FileNotFoundError, match="Directory not found"):
        DirectoryResource(uri="x://d", path=tmp_path / "none").list_files()
    with pytest.raises(NotADirectoryError, match="Not a directory"):
        DirectoryResource(uri="x://d", path=tmp_path / "a.txt").list_files()


class Web:
    """A web server that answers each path with what the test put there."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes] = {}
        self.url = ""

    async def serve(self, listener: anyio.abc.Listener[anyio.abc.SocketStream]) -> None:
        await listener.serve(self._answer)

    async def _answer(self, stream: anyio.abc.SocketStream) -> None:
        async with stream:
            request = (await stream.receive()).decode()
            await stream.send(
                self.answers.get(request.split(" ")[1], b"HTTP/1.1 404 Gone\r\ncontent-length: 0\r\n\r\n")
            )


def response(body: bytes, content_type: str, status: str = "200 OK", extra: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\ncontent-type: {content_type}\r\n{extra}\r\n"
    return head.encode() + body


@pytest.mark.rule("RES-21", "RES-D4")
async def test_a_body_behind_a_url_keeps_its_type() -> None:
    web = Web()
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    url = f"http://127.0.0.1:{port}"
    web.answers = {
        "/text": response("é".encode("latin-1"), "text/plain; charset=latin-1"),
        "/png": response(b"\x89PNG", "image/png"),
        "/moved": response(b"", "text/plain", "302 Found", "location: /text\r\n"),
    }
    mcp = MCPServer("Lab")
    for name in ("text", "png", "moved", "none"):
        mcp.add_resource(HttpResource(uri=f"x://{name}", url=f"{url}/{name}"))
    with anyio.fail_after(5):
        async with listener, anyio.create_task_group() as group:
            group.start_soon(web.serve, listener)
            async with connect(mcp) as peer:
                text = {"mimeType": "text/plain; charset=latin-1", "text": "é"}
                assert await read(peer, "x://text") == [{"uri": "x://text", **text}]
                assert await read(peer, "x://moved") == [{"uri": "x://moved", **text}]
                blob = base64.b64encode(b"\x89PNG").decode()
                assert await read(peer, "x://png") == [{"uri": "x://png", "mimeType": "image/png", "blob": blob}]
                assert (await failure(peer, "x://none")).message == "Error reading resource x://none"
            group.cancel_scope.cancel()


@pytest.mark.rule("TROUBLE-16")
@pytest.mark.rule("RES-23", "RES-24", "RES-25", "RES-26", "RES-27", "RES-D1", "ERR-8", "ERR-19", "CASE-77")
async def test_failures_are_protocol_errors(caplog: pytest.LogCaptureFixture) -> None:
    mcp = MCPServer("Lab")
    errors: dict[str, Exception] = {
        "gone": ResourceNotFoundError("No such row."),
        "meant": ResourceError("The archive is closed."),
        "mcp": MCPError(-32050, "quota", {"retryAfter": 1}),
        "tool": ToolError("secret"),
        "boom": RuntimeError("secret"),
    }

    @mcp.resource("x://t/{kind}")
    def template(kind: str) -> str:
        raise errors[kind]

    @mcp.resource("x://n/{n}")
    def number(n: int) -> str:
        return str(n)

    @mcp.resource("x://static")
    def static() -> str:
        raise RuntimeError("secret")

    caplog.set_level(logging.INFO)
    async with connect(mcp) as peer:
        unknown = await failure(peer, "x://nosuch")
        assert (unknown.code, unknown.message, unknown.data) == (
            INVALID_PARAMS,
            "Unknown resource: x://nosuch",
            {"uri": "x://nosuch"},
        )
        gone = await failure(peer, "x://t/gone")
        assert (gone.code, gone.message, gone.data) == (INVALID_PARAMS, "No such row.", {"uri": "x://t/gone"})
        meant = await failure(peer, "x://t/meant")
        assert (meant.code, meant.message, meant.data) == (
            INTERNAL_ERROR,
            "The archive is closed.",
            {"uri": "x://t/meant"},
        )
        own = await failure(peer, "x://t/mcp")
        assert (own.code, own.message, own.data) == (-32050, "quota", {"retryAfter": 1})
        for kind in ("tool", "boom"):
            uri = f"x://t/{kind}"
            error = await failure(peer, uri)
            assert (error.code, error.message, error.data) == (
                INTERNAL_ERROR,
                f"Error creating resource from template {uri}",
                {"uri": uri},
            )
        broken = await failure(peer, "x://static")
        assert (broken.code, broken.message) == (INTERNAL_ERROR, "Error reading resource x://static")
        bad = await failure(peer, "x://n/x")
        assert bad.code == INVALID_PARAMS
        assert bad.message.startswith("Invalid parameters for resource x://n/x: 1 validation error")
        assert "\nn\n" in bad.message
    messages = [(record.levelno, record.getMessage()) for record in caplog.records]
    assert (logging.INFO, "Resource 'x://t/gone' failed: 'No such row.'") in messages
    assert (logging.INFO, "Resource 'x://t/meant' failed: 'The archive is closed.'") in messages
    assert (logging.ERROR, "Resource 'x://t/boom' raised an unexpected exception") in messages


async def test_errors_can_be_shown_for_development() -> None:
    mcp = MCPServer("Lab", mask_errors=False)

    @mcp.resource("x://s")
    def f() -> str:
        raise RuntimeError("the reason")

    async with connect(mcp) as peer:
        assert (await failure(peer, "x://s")).message == "Error reading resource x://s: the reason"


@pytest.mark.rule("RES-28")
async def test_direct_calls_return_contents_and_raise() -> None:
    mcp = MCPServer("Lab")

    @mcp.resource("x://t/{a}", mime_type="text/x", meta={"k": 1})
    def f(a: str) -> str:
        if a == "boom":
            raise RuntimeError("secret")
        return a

    @mcp.resource("x://b")
    def blob() -> bytes:
        return b"b"

    result = await mcp.read_resource(AnyUrl("x://t/v"))
    assert result == [ReadResourceContents(content="v", mime_type="text/x", meta={"k": 1})]
    assert await mcp.read_resource("x://b") == [ReadResourceContents(b"b", "application/octet-stream")]
    with pytest.raises(ResourceNotFoundError):
        await mcp.read_resource("x://nosuch")
    with pytest.raises(UnexpectedResourceError) as caught:
        await mcp.read_resource("x://t/boom")
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.rule("URI-23", "URI-24", "URI-25", "URI-26", "RES-23", "SRES-26")
async def test_values_that_leave_their_place_look_like_unknown_resources() -> None:
    mcp = MCPServer("Lab")

    @mcp.resource("x://{+path}")
    def f(path: str) -> str:
        return path

    @mcp.resource("x://{other}")
    def g(other: str) -> str:
        return f"other {other}"

    async with connect(mcp) as peer:
        for path in ("..", "../x", "a/../../b", "%2Fetc", "C:x", "a%00b"):
            error = await failure(peer, f"x://{path}")
            assert (error.code, error.message, error.data) == (
                INVALID_PARAMS,
                f"Unknown resource: x://{path}",
                {"uri": f"x://{path}"},
            )
        for path in ("a/../b", "v1..v2", "ab:c"):
            assert (await read(peer, f"x://{path}"))[0]["text"] == path


@pytest.mark.rule("URI-27", "URI-D4")
async def test_the_checks_can_be_set_for_a_server_and_for_a_resource() -> None:
    off = ResourceSecurity(reject_path_traversal=False, reject_absolute_paths=False, reject_null_bytes=False)
    mcp = MCPServer("Lab", resource_security=off)

    @mcp.resource("x://{+a}")
    def free(a: str) -> str:
        return a

    @mcp.resource("y://{+a}", security=ResourceSecurity())
    def guarded(a: str) -> str:
        return a

    @mcp.resource("z://{+a}/-/{b}", security=ResourceSecurity(exempt_params={"a"}))
    def exempt(a: str, b: str) -> str:
        return a + b

    async with connect(mcp) as peer:
        assert (await read(peer, "x://../a"))[0]["text"] == "../a"
        assert (await failure(peer, "y://../a")).code == INVALID_PARAMS
        assert (await read(peer, "z://../-/b"))[0]["text"] == "..b"
        assert (await failure(peer, "z://a/-/..")).code == INVALID_PARAMS
    with pytest.raises(TypeError, match="exempt_params must be a collection of names, got the string 'a'"):
        ResourceSecurity(exempt_params="a")  # pyright: ignore[reportArgumentType]


@pytest.mark.rule("URI-D1", "URI-D2", "URI-D3")
@pytest.mark.parametrize(
    ("uri", "value"),
    [
        ("x://", ""),
        ("x://..%20", ".. "),
        ("x://...", "..."),
        ("x://%2E%2E%20%5Ca", ".. \\a"),
        ("x://NUL", "NUL"),
        ("x://COM1.txt", "COM1.txt"),
        ("x://a%0D%0Ab", "a\r\nb"),
        ("x://%1B%5B31m", "\x1b[31m"),
    ],
)
async def test_what_only_the_function_can_judge_reaches_it(uri: str, value: str) -> None:
    mcp = MCPServer("Lab")
    seen: list[str] = []

    @mcp.resource("x://{a}")
    def f(a: str) -> str:
        seen.append(a)
        return "read"

    async with connect(mcp) as peer:
        await read(peer, uri)
    assert seen == [value]


@pytest.mark.rule("RES-29")
@pytest.mark.parametrize("verb", ["subscribe", "unsubscribe"])
async def test_legacy_sessions_cannot_subscribe_to_a_resource(verb: str) -> None:
    mcp = MCPServer("Lab")

    @mcp.resource("x://s")
    def f() -> str:
        return "s"

    async with Client(mcp, mode="legacy") as client:
        assert client.server_capabilities.resources == ResourcesCapability(subscribe=False, list_changed=False)
        with pytest.warns(MCPDeprecationWarning), pytest.raises(MCPError) as caught:
            await getattr(client.session, f"{verb}_resource")("x://s")
    assert (caught.value.code, caught.value.message) == (METHOD_NOT_FOUND, "Method not found")


def test_a_check_names_the_bad_variable() -> None:
    template = ResourceTemplate.from_function(with_parameter, "x://{a}")
    assert template.matches("x://b") == {"a": "b"}
    assert template.matches("y://b") is None
    with pytest.raises(ResourceSecurityError) as caught:
        template.matches("x://..")
    assert str(caught.value) == "Parameter 'a' of template 'x://{a}' failed security validation"
    assert (caught.value.template, caught.value.param) == ("x://{a}", "a")
    assert ResourceSecurity().validate({"a": ["x", ".."]}) == "a"


async def test_a_resource_manager_finds_resources() -> None:
    manager = ResourceManager(resources=[TextResource(uri="x://s", text="s")])
    manager.add_template(with_parameter, "x://t/{a}")
    assert [resource.uri for resource in manager.list_resources()] == ["x://s"]
    assert [template.uri_template for template in manager.list_templates()] == ["x://t/{a}"]
    found = await manager.get_resource("x://t/v", Context())
    assert isinstance(found, Resource)
    assert (found.uri, found.name, await found.read()) == ("x://t/v", "with_parameter", "v")
    with pytest.raises(ResourceNotFoundError):
        await manager.get_resource("x://nosuch", Context())


async def test_ready_made_resources_read_what_they_hold() -> None:
    assert await BinaryResource(uri="x://b", data=b"b").read() == b"b"
    assert BinaryResource(uri="x://b", data=b"b").mime_type == "application/octet-stream"
    assert BinaryResource(uri="x://b", data=b"b", mime_type="image/x").mime_type == "image/x"

    def numbers() -> list[int]:
        return [1]

    assert await FunctionResource.from_function(numbers, "x://n").read() == "[\n  1\n]"

    def nothing() -> ReadResourceResult:
        return ReadResourceResult(contents=[])

    assert await FunctionResource.from_function(nothing, "x://n").read() == ""

    def data() -> bytes:
        return b""

    assert FunctionResource.from_function(data, "x://d").mime_type == "application/octet-stream"

    def of_template(a: str) -> bytes:
        return a.encode()

    assert ResourceTemplate.from_function(of_template, "x://{a}").mime_type == "application/octet-stream"
