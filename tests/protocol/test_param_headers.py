"""Tool arguments that a schema mirrors into headers, and the check that both agree."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp._protocol.param_headers import compare, emit, find_invalid_x_mcp_header, header_map

X = "x-mcp-header"
UNREACHABLE = "x-mcp-header found at a schema position not reachable via a pure `properties` chain"


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def marked(kind: Any = "string", name: Any = "N") -> dict[str, Any]:
    return {"type": kind, X: name}


SCHEMA = schema(
    region=marked("string", "Region"),
    count=marked("integer", "Count"),
    dry={"type": "boolean", X: "Dry"},
    where=schema(zone=marked("string", "Zone")),
    plain={"type": "string"},
)
MAP = header_map(SCHEMA)


@pytest.mark.rule("HTTP-X-01", "HTTP-X-10", "HTTP-X-17", "HTTP-X-18", "LOW-64")
def test_annotations_are_found_along_properties() -> None:
    assert MAP == {
        ("region",): "Region",
        ("count",): "Count",
        ("dry",): "Dry",
        ("where", "zone"): "Zone",
    }
    assert header_map(schema(p=marked(name="Method"))) == {("p",): "Method"}
    assert header_map(schema(properties=marked())) == {("properties",): "N"}
    assert header_map(schema(plain={"type": "string"})) == {}
    assert header_map(None) == {}
    assert header_map(schema(a=True, b=marked())) == {("b",): "N"}


@pytest.mark.rule("HTTP-X-04", "HTTP-X-05", "HTTP-X-06", "HTTP-X-07", "HTTP-X-08", "HTTP-X-13", "LOW-65", "LOW-66")
@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (schema(p=marked(name="a b")), "property 'p': x-mcp-header 'a b' is not an RFC 9110 token"),
        (schema(p=marked(name="")), "property 'p': x-mcp-header '' is not an RFC 9110 token"),
        (schema(p=marked(name="a:b")), "property 'p': x-mcp-header 'a:b' is not an RFC 9110 token"),
        (schema(p=marked(name="é")), "property 'p': x-mcp-header 'é' is not an RFC 9110 token"),
        (schema(p=marked(name="a\n")), "property 'p': x-mcp-header 'a\\n' is not an RFC 9110 token"),
        (schema(p=marked(name=5)), "property 'p': x-mcp-header must be a string, not int"),
        (schema(p=marked(name=None)), "property 'p': x-mcp-header must be a string, not NoneType"),
        (
            schema(p=marked("object")),
            "property 'p': x-mcp-header is only permitted on integer/string/boolean properties (got 'object')",
        ),
        (
            schema(o=schema(p=marked("number"))),
            "property 'o.p': x-mcp-header is only permitted on integer/string/boolean properties (got 'number')",
        ),
        (
            schema(p=marked(["string", "null"])),
            "property 'p': x-mcp-header is only permitted on integer/string/boolean properties "
            "(the type keyword is list, not a string)",
        ),
        (
            schema(p={X: "N"}),
            "property 'p': x-mcp-header is only permitted on integer/string/boolean properties "
            "(the type keyword is NoneType, not a string)",
        ),
        (schema(q=marked(name="a"), p=marked(name="A")), "x-mcp-header 'A' on property 'p' duplicates property 'q'"),
        (
            schema(o=schema(i=marked()), p=marked(name="n")),
            "x-mcp-header 'n' on property 'p' duplicates property 'o.i'",
        ),
    ],
)
def test_one_bad_annotation_is_named_and_switches_all_off(bad: dict[str, Any], reason: str) -> None:
    assert find_invalid_x_mcp_header(bad) == reason
    assert header_map(bad) == {}


@pytest.mark.rule("HTTP-X-11", "LOW-66")
@pytest.mark.parametrize(
    "bad",
    [
        {"type": "object", X: "N"},
        schema(p={"type": "array", "items": marked()}),
        schema(p={"type": "array", "prefixItems": [marked()]}),
        schema(p={"anyOf": [marked()]}),
        schema(p={"oneOf": [schema(q=marked())]}),
        {"allOf": [schema(p=marked())]},
        schema(p={"not": marked()}),
        {"if": schema(p=marked())},
        {"then": schema(p=marked())},
        {"else": schema(p=marked())},
        {"$defs": {"d": marked()}},
        {"definitions": {"d": marked()}},
        {"additionalProperties": marked()},
        {"patternProperties": {"a": marked()}},
        {"dependentSchemas": {"a": schema(p=marked())}},
        schema(o={"$ref": "#/$defs/d"}, ok=marked(name="M")) | {"$defs": {"d": schema(p=marked())}},
    ],
)
def test_an_annotation_off_the_properties_chain_is_refused(bad: dict[str, Any]) -> None:
    assert find_invalid_x_mcp_header(bad) == UNREACHABLE
    assert header_map(bad) == {}


@pytest.mark.parametrize(
    "fine",
    [
        schema(p={"type": "object", "default": {X: "N"}, "const": {X: "N"}, "examples": [{X: "N"}]}),
        schema(p={"enum": [{X: "N"}], "x-vendor": {X: "N"}}),
        schema(**{X: {"type": "string"}}),
        schema(p={"items": [True], "properties": []}),
        {"properties": [{X: "N"}]},
        True,
    ],
)
def test_the_word_inside_data_means_nothing(fine: Any) -> None:
    assert find_invalid_x_mcp_header(fine) is None
    assert header_map(fine) == {}


@pytest.mark.rule(
    "HTTP-X-03",
    "HTTP-X-12",
    "HTTP-T-03",
    "HTTP-T-04",
    "HTTP-T-05",
    "HTTP-T-06",
    "HTTP-T-07",
    "HTTP-T-08",
    "HTTP-V-02",
    "TRANSPORT-22",
)
@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        (None, {}),
        ({}, {}),
        ({"region": None, "where": None, "plain": "x", "other": 1}, {}),
        ({"where": "not an object"}, {}),
        ({"region": "us west 1"}, {"Mcp-Param-Region": "us west 1"}),
        ({"region": ""}, {"Mcp-Param-Region": ""}),
        ({"region": "größe"}, {"Mcp-Param-Region": "=?base64?Z3LDtsOfZQ==?="}),
        ({"count": 42, "dry": True}, {"Mcp-Param-Count": "42", "Mcp-Param-Dry": "true"}),
        ({"count": -7.0, "dry": False}, {"Mcp-Param-Count": "-7", "Mcp-Param-Dry": "false"}),
        ({"where": {"zone": "b"}}, {"Mcp-Param-Zone": "b"}),
        ({"region": ["a"], "count": 1.5, "dry": {}}, {}),
    ],
)  # fmt: skip
def test_arguments_become_headers(arguments: dict[str, Any] | None, headers: dict[str, str]) -> None:
    assert emit(MAP, arguments) == headers
    raw = {name.lower(): [value] for name, value in headers.items()}
    assert compare(MAP, arguments, raw) is None


@pytest.mark.rule("HTTP-X-09")
@pytest.mark.parametrize("value", [2**53, -(2**53), 1e300])
def test_integers_that_not_every_reader_keeps_exact_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"argument 'count' is mirrored into header Mcp-Param-Count and must lie"):
        emit(MAP, {"count": value})
    text = compare(MAP, {"count": value}, {"mcp-param-count": [str(int(value))]})
    assert text == "Mcp-Param-Count header does not match the request body's 'count' argument"
    assert emit(MAP, {"count": 2**53 - 1}) == {"Mcp-Param-Count": "9007199254740991"}


MISSING = "Mcp-Param-{} header is missing but the request body's '{}' argument is present"
DIFFERENT = "Mcp-Param-{} header does not match the request body's '{}' argument"
ABSENT = "Mcp-Param-{} header is present but the request body's '{}' argument is absent"


@pytest.mark.rule(
    "HTTP-S-01",
    "HTTP-S-02",
    "HTTP-S-05",
    "HTTP-S-06",
    "HTTP-S-07",
    "HTTP-S-08",
    "HTTP-S-10",
    "HTTP-V-08",
    "HTTP-V-10",
    "HTTP-H-13",
    "LOW-60",
    "LOW-62",
    "LOW-63",
    "LOW-64",
)
@pytest.mark.parametrize(
    ("arguments", "headers", "text"),
    [
        ({"region": "x"}, {}, MISSING.format("Region", "region")),
        ({"where": {"zone": ""}}, {}, MISSING.format("Zone", "where.zone")),
        ({"region": "x"}, {"region": ["y"]}, DIFFERENT.format("Region", "region")),
        ({"region": "x"}, {"region": ["X"]}, DIFFERENT.format("Region", "region")),
        ({"region": "x"}, {"region": ["=?base64?!?="]}, DIFFERENT.format("Region", "region")),
        ({"region": "x\x01"}, {"region": ["x\x01"]}, DIFFERENT.format("Region", "region")),
        ({"region": ["x"]}, {"region": ["x"]}, DIFFERENT.format("Region", "region")),
        ({}, {"region": ["x"]}, ABSENT.format("Region", "region")),
        ({"region": None}, {"region": ["x"]}, ABSENT.format("Region", "region")),
        (None, {"zone": [""]}, ABSENT.format("Zone", "where.zone")),
        ({"region": "x"}, {"region": ["x", "x"]}, "Mcp-Param-Region header appears more than once"),
        ({}, {"region": ["x", "y"]}, "Mcp-Param-Region header appears more than once"),
        ({"dry": True}, {"dry": ["True"]}, DIFFERENT.format("Dry", "dry")),
        ({"dry": 1}, {"dry": ["true"]}, DIFFERENT.format("Dry", "dry")),
        ({"count": True}, {"count": ["1"]}, DIFFERENT.format("Count", "count")),
        ({"count": "5"}, {"count": ["05"]}, DIFFERENT.format("Count", "count")),
        ({"region": "x"}, {"region": ["x"], "unknown": ["z", "z"]}, None),
        ({"region": "Hello"}, {"region": ["=?base64?SGVsbG8=?="]}, None),
        ({"region": "SGVsbG8="}, {"region": ["SGVsbG8="]}, None),
        ({"region": "=?base64?SGVsbG8="}, {"region": ["=?base64?SGVsbG8="]}, None),
        ({"region": None}, {}, None),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(arguments: dict[str, Any], headers: dict[str, list[str]], text: str | None) -> None:
    assert compare(MAP, arguments, {f"mcp-param-{name}": values for name, values in headers.items()}) == text


@pytest.mark.rule("HTTP-S-09", "LOW-63")
@pytest.mark.parametrize(
    ("value", "header", "equal"),
    [
        (5, "5", True),
        (5, "05", True),
        (5, "5.0", True),
        (5.0, "5", True),
        (5, "=?base64?NQ==?=", True),
        (0, "-0", True),
        (1.5, "1.50", True),
        (5, "6", False),
        (5, "5.1", False),
        (5, "5e0", False),
        (5, "+5", False),
        (5, "5.", False),
        (5, "", False),
        (5, "٥", False),
        (9007199254740991, "9007199254740991.0000001", False),
    ],
)
def test_integers_are_compared_as_numbers(value: float, header: str, equal: bool) -> None:
    assert (compare(MAP, {"count": value}, {"mcp-param-count": [header]}) is None) is equal


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "region": st.none() | st.text(st.characters()),
            "count": st.none() | st.integers(-(2**53) + 1, 2**53 - 1),
            "dry": st.none() | st.booleans(),
            "where": st.none() | st.fixed_dictionaries({}, optional={"zone": st.text()}),
        },
    )
)
def test_a_server_accepts_what_a_client_mirrors(arguments: dict[str, Any]) -> None:
    headers = {name.lower(): [value] for name, value in emit(MAP, arguments).items()}
    assert compare(MAP, arguments, headers) is None
