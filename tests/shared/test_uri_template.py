from __future__ import annotations

import copy
import dataclasses
import pickle
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp.shared.uri_template import (
    DEFAULT_MAX_TEMPLATE_LENGTH,
    DEFAULT_MAX_URI_LENGTH,
    DEFAULT_MAX_VARIABLES,
    InvalidUriTemplate,
    UriTemplate,
    Variable,
)

Values = dict[str, str | list[str]]


def match(template: str, uri: str) -> Values | None:
    return UriTemplate.parse(template).match(uri)


def expand(template: str, values: Values) -> str:
    return UriTemplate.parse(template).expand(values)


# Parsing


@pytest.mark.rule("URI-1", "URI-2")
def test_every_operator_is_read() -> None:
    template = UriTemplate.parse("x://{a}/{+b}{.c}{/d}{;e}{?f,g}{&h}")
    assert template.variables == [
        Variable("a", ""),
        Variable("b", "+"),
        Variable("c", "."),
        Variable("d", "/"),
        Variable("e", ";"),
        Variable("f", "?"),
        Variable("g", "?"),
        Variable("h", "&"),
    ]
    assert template.variable_names == list("abcdefgh")
    assert UriTemplate.parse("{#a}").variables == [Variable("a", "#")]


@pytest.mark.rule("URI-1")
@pytest.mark.parametrize("operator", ["/", ".", ";"])
def test_explode_goes_with_three_operators(operator: str) -> None:
    assert [variable.explode for variable in UriTemplate.parse(f"x{{{operator}a*}}").variables] == [True]


@pytest.mark.rule("URI-2")
@pytest.mark.parametrize("name", ["a", "A1_", "_", "0", "a.b.c"])
def test_names_are_words_with_single_dots(name: str) -> None:
    assert UriTemplate.parse(f"{{{name}}}").variable_names == [name]


ADJACENT = (
    "Variables '{}' and '{}' are adjacent with no literal separator; matching cannot determine where one ends and the "
    "other begins. Add a literal between them or use a single variable."
)
MULTI = (
    "Template contains more than one multi-segment variable ({+var}, {#var}, or explode modifier); "
    "matching would be ambiguous"
)
REPEATED = "Variable 'a' appears more than once; repeated variables are not supported"
QUERIES = "Template contains more than one {?...} expression; use {?a,b} or {?a}{&b} for multiple query parameters"


@pytest.mark.rule("URI-2", "URI-3", "URI-4")
@pytest.mark.parametrize(
    ("template", "message", "position"),
    [
        ("{a", "Unclosed expression at position 0", 0),
        ("x{", "Unclosed expression at position 1", 1),
        ("{a}{b}{c", "Unclosed expression at position 6", 6),
        ("{}", "Empty expression at position 0", 0),
        ("{+}", "Expression has operator but no variables at position 0", 0),
        ("{/}", "Expression has operator but no variables at position 0", 0),
        ("{a b}", "Invalid variable name 'a b' at position 0", 0),
        ("{ a}", "Invalid variable name ' a' at position 0", 0),
        ("{a,}", "Invalid variable name '' at position 0", 0),
        ("{a..b}", "Invalid variable name 'a..b' at position 0", 0),
        ("{.a.}", "Invalid variable name 'a.' at position 0", 0),
        ("{a%20}", "Invalid variable name 'a%20' at position 0", 0),
        ("{é}", "Invalid variable name 'é' at position 0", 0),
        ("{{a}}", "Invalid variable name '{a' at position 0", 0),
        ("{/a**}", "Invalid variable name 'a*' at position 0", 0),
        ("{=a}", "Invalid variable name '=a' at position 0", 0),
        ("{!a}", "Invalid variable name '!a' at position 0", 0),
        ("{@a}", "Invalid variable name '@a' at position 0", 0),
        ("{|a}", "Invalid variable name '|a' at position 0", 0),
        ("{,a}", "Invalid variable name '' at position 0", 0),
        ("{a:3}", "Prefix modifier {var:N} is not supported (in 'a:3' at position 0)", 0),
        ("x{/a*:3}", "Prefix modifier {var:N} is not supported (in 'a*:3' at position 1)", 1),
        ("{a*}", "Explode modifier on {a*} is not supported for matching", 0),
        ("{+a*}", "Explode modifier on {+a*} is not supported for matching", 0),
        ("{#a*}", "Explode modifier on {#a*} is not supported for matching", 0),
        ("{?v*}", "Explode modifier on {?v*} is not supported for matching", 0),
        ("{&v*}", "Explode modifier on {&v*} is not supported for matching", 0),
    ],
)
def test_bad_syntax_is_named_with_its_position(template: str, message: str, position: int) -> None:
    with pytest.raises(InvalidUriTemplate) as caught:
        UriTemplate.parse(template)
    assert (str(caught.value), caught.value.template, caught.value.position) == (message, template, position)
    assert isinstance(caught.value, ValueError)


@pytest.mark.rule("URI-3", "URI-5", "URI-6", "URI-7")
@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{a}/{a}", REPEATED),
        ("{?a,a}", REPEATED),
        ("{a}{b}", ADJACENT.format("a", "b")),
        ("{a}{+b}", ADJACENT.format("a", "b")),
        ("{;a}{b}", ADJACENT.format("a", "b")),
        ("{?a}{b}", ADJACENT.format("a", "b")),
        ("{/a*}{b}", ADJACENT.format("a", "b")),
        ("{/a}{/b*}", ADJACENT.format("a", "b")),
        ("{/a,b*}", ADJACENT.format("a", "b")),
        ("{+a}/x/{+b}", MULTI),
        ("{+a,b}", MULTI),
        ("{#a,b}", MULTI),
        ("{/a*}-{/b*}", MULTI),
        ("{?a}{?b}", QUERIES),
    ],
)
def test_templates_that_match_in_two_ways_are_refused(template: str, message: str) -> None:
    with pytest.raises(InvalidUriTemplate) as caught:
        UriTemplate.parse(template)
    assert (str(caught.value), caught.value.template, caught.value.position) == (message, template, None)


@pytest.mark.rule("URI-4")
def test_a_stray_closing_brace_is_text() -> None:
    assert match("a}{b}}", "a}x}") == {"b": "x"}


@pytest.mark.rule("URI-5")
@pytest.mark.parametrize(
    "template", ["{b}{;a}", "{a}{.b}", "{a}{/b}", "{a}{#b}", "{a}{?b}", "{a}{&b}", "{/a*}{/b}", "{a,b}"]
)
def test_a_leading_operator_separates(template: str) -> None:
    assert len(UriTemplate.parse(template).variables) == 2


@pytest.mark.rule("URI-8")
def test_limits_are_checked() -> None:
    assert (DEFAULT_MAX_TEMPLATE_LENGTH, DEFAULT_MAX_VARIABLES, DEFAULT_MAX_URI_LENGTH) == (8192, 256, 65536)
    UriTemplate.parse("a" * 8192)
    with pytest.raises(InvalidUriTemplate, match=r"^Template exceeds maximum length of 8192$"):
        UriTemplate.parse("a" * 8193)
    names = [f"v{index}" for index in range(257)]
    UriTemplate.parse("{" + ",".join(names[:256]) + "}")
    with pytest.raises(InvalidUriTemplate, match=r"^Template exceeds maximum of 256 variables$"):
        UriTemplate.parse("{" + ",".join(names) + "}")
    with pytest.raises(InvalidUriTemplate, match=r"^Template exceeds maximum of 1 variables$"):
        UriTemplate.parse("{a}/{b}", max_variables=1)
    with pytest.raises(InvalidUriTemplate, match=r"^Template exceeds maximum length of 3$"):
        UriTemplate.parse("abcd", max_length=3)


@pytest.mark.rule("URI-9")
def test_templates_are_values() -> None:
    template = UriTemplate.parse("a{b}")
    assert template == UriTemplate.parse("a{b}") != UriTemplate.parse("a{c}")
    assert hash(template) == hash(UriTemplate.parse("a{b}"))
    assert str(template) == template.template == "a{b}"
    assert repr(template) == "UriTemplate(template='a{b}')"
    assert copy.deepcopy(template) == pickle.loads(pickle.dumps(template)) == template
    with pytest.raises(dataclasses.FrozenInstanceError):
        template.template = "x"  # pyright: ignore[reportAttributeAccessIssue]
    template.variables.clear()
    assert template.variable_names == ["b"]


@pytest.mark.rule("URI-9")
def test_a_template_has_an_opening_and_then_a_closing_brace() -> None:
    assert [UriTemplate.is_template(text) for text in ("{}", "{a}", "a}b{c}", "{{}")] == [True] * 4
    assert [UriTemplate.is_template(text) for text in ("", "a", "{", "}", "}{", "a{b")] == [False] * 6


# Matching


@pytest.mark.rule("URI-10", "URI-14")
def test_the_whole_uri_must_fit() -> None:
    assert match("a://b", "a://b") == {}
    for uri in ("a://b/", "a://", "A://b", "a://B", "xa://b", "a://%62", ""):
        assert match("a://b", uri) is None
    assert match("a{x}a", "a") is None
    assert match("ab{x}ba", "aba") is None
    assert match("é{x}", "éa") == {"x": "a"}


@pytest.mark.rule("URI-10")
def test_uris_beyond_the_limit_do_not_match() -> None:
    template = UriTemplate.parse("a{b}")
    assert template.match("ab", max_uri_length=2) == {"b": "b"}
    assert template.match("ab", max_uri_length=1) is None
    assert template.match("a" * 65536) == {"b": "a" * 65535}
    assert template.match("a" * 65537) is None


@pytest.mark.rule("URI-10")
@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("{a}-{b}-{c}-{d}-{e}x", "-" * 60_000),
        ("{a}.{b}.{c}.{+d}.{e}.{f}y", "." * 60_000),
        ("a{/p*}/b/{c}/d", "/b" * 30_000),
        ("x{;k*}{.e}", ";k" * 30_000),
        ("x{?a,b}", "x?" + "&" * 60_000),
        ("{+a}{.b}", "%" * 60_000),
    ],
)
def test_matching_takes_time_in_proportion_to_the_uri(template: str, uri: str) -> None:
    parsed = UriTemplate.parse(template)
    start = time.perf_counter()
    parsed.match(uri)
    # Far above what linear work needs, far below what quadratic work would take.
    assert time.perf_counter() - start < 0.5


@pytest.mark.rule("URI-11")
@pytest.mark.parametrize(
    ("template", "ends_before", "may_contain"),
    [
        ("{a}", "/?#&,", ".;="),
        ("{+a}", "?#", "/&,.;="),
        ("{.a}", "./?#", "&,;="),
        ("{/a}", "/?#", ".&,;="),
        ("{;a}", ";/?#", ".&,="),
        ("x?q{&a}", "&#", "./?,;="),
        ("{?a}x", "&#", "./?,;="),
        ("{#a}", "", "./?#&,;="),
    ],
)
def test_a_value_ends_where_its_operator_says(template: str, ends_before: str, may_contain: str) -> None:
    parsed = UriTemplate.parse(template)
    whole = parsed.expand({"a": "\0"})
    for character in ends_before:
        assert parsed.match(whole.replace("%00", f"b{character}c")) is None, character
    for character in may_contain:
        assert parsed.match(whole.replace("%00", f"b{character}c")) == {"a": f"b{character}c"}, character
    for text in (" ", "\n", "\x00", "é", '"', "\ud800"):
        assert parsed.match(whole.replace("%00", text)) == {"a": text}
    assert parsed.match(whole.replace("%00", "")) == {"a": ""}


@pytest.mark.rule("URI-12")
@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("%2F", "/"),
        ("%252F", "%2F"),
        ("%C3%A9", "é"),
        ("%zz", "%zz"),
        ("%", "%"),
        ("%f", "%f"),
        ("%ff", "\ufffd"),
        ("\ud800%41", "\ud800A"),
    ],
)
def test_escapes_are_decoded_once(raw: str, value: str) -> None:
    assert match("x/{a}", f"x/{raw}") == {"a": value}
    assert match("x/{+a}", f"x/{raw}") == {"a": value}
    assert match("x{?a}", f"x?a={raw}") == {"a": value}


@pytest.mark.rule("URI-13")
@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("a://{x}-{+y}", "a://1-2-3/4", {"x": "1", "y": "2-3/4"}),
        ("a://{x}.{y}", "a://1.2.3", {"x": "1.2", "y": "3"}),
        ("a://{x}-{y}-{+z}", "a://1-2-3-4", {"x": "1", "y": "2", "z": "3-4"}),
        ("a://{+z}-{x}-{y}", "a://1-2-3-4-5", {"z": "1-2-3", "x": "4", "y": "5"}),
        ("{+p}.{e}", "a/b.c.d", {"p": "a/b.c", "e": "d"}),
        ("a{x}b", "abb", {"x": "b"}),
        ("{a,b}", ",", {"a": "", "b": ""}),
        ("{/p*}/x", "/a/x/x", {"p": ["a", "x"]}),
    ],
)
def test_variables_share_a_uri_from_both_ends(template: str, uri: str, values: Values) -> None:
    found = match(template, uri)
    assert found == values
    assert found is not None
    assert list(found) == list(values)


@pytest.mark.rule("URI-13")
def test_both_ends_may_not_overlap() -> None:
    assert match("{a}-{+b}-{c}", "1-2") is None
    assert match("{a}-{+b}-{c}", "1--2") == {"a": "1", "b": "", "c": "2"}
    assert match("{+b}-x{c}", "x1") is None


@pytest.mark.rule("URI-15", "URI-19")
@pytest.mark.parametrize(
    ("uri", "values"),
    [
        ("x", {}),
        ("x?", {}),
        ("x?a=1&b=2", {"a": "1", "b": "2"}),
        ("x?b=2&a=1", {"a": "1", "b": "2"}),
        ("x?b=2&c=3", {"b": "2"}),
        ("x?c=3&d=4", {}),
        ("x?a=1&a=2", {"a": "1"}),
        ("x?a", {"a": ""}),
        ("x?a=", {"a": ""}),
        ("x?a=1+2", {"a": "1+2"}),
        ("x?a=%26%3D", {"a": "&="}),
        ("x?a=1=2", {"a": "1=2"}),
        ("x?%61=1", {}),
        ("x?A=1", {}),
        ("x?&&a=1", {"a": "1"}),
        ("x?=1", {}),
        ("x?a=1?b=2", {"a": "1?b=2"}),
        ("x?a=1#b=2", {"a": "1"}),
        ("x#f", {}),
        ("x#?a=1", {}),
    ],
)
def test_a_trailing_query_is_optional_and_unordered(uri: str, values: Values) -> None:
    template = UriTemplate.parse("x{?a,b}{&e}")
    assert template.query_variable_names == {"a", "b", "e"}
    assert template.match(uri) == values


@pytest.mark.rule("URI-16", "URI-19")
@pytest.mark.parametrize(
    ("template", "fits", "others"),
    [
        ("x{&a}", "x&a=1", ["x", "x?a=1", "x&b=1"]),
        ("x?q=1{&a}", "x?q=1&a=1", ["x?q=1", "x?a=1&q=1"]),
        ("x?q=1{?a}", "x?q=1?a=1", ["x?q=1"]),
        ("x#f{?a}", "x#f?a=1", ["x#f", "x"]),
        ("x{#f}{?a}", "x#f?a=1", ["x#f", "x"]),
        ("x{&b}{?a}", "x&b=2?a=1", ["x&b=2", "x?a=1"]),
        ("x{&b}{?a}{&c}", "x&b=2?a=1&c=3", ["x&b=2", "x?a=1"]),
        ("x{?a}/y", "x?a=1/y", ["x/y"]),
        ("x{?a}/y{&b}", "x?a=1/y&b=2", ["x?a=1/y", "x/y"]),
        ("x{?a}{#f}", "x?a=1#f", ["x?a=1", "x#f"]),
    ],
)
def test_any_other_query_must_be_there_in_order(template: str, fits: str, others: list[str]) -> None:
    parsed = UriTemplate.parse(template)
    assert parsed.query_variable_names == frozenset()
    found = parsed.match(fits)
    assert found is not None
    assert found["a"] == "1"
    for uri in others:
        assert parsed.match(uri) is None, uri


@pytest.mark.rule("URI-17")
def test_path_parameters_are_matched_by_their_full_name() -> None:
    assert match("x{;a}", "x;a=1") == {"a": "1"}
    assert match("x{;a}", "x;a") == match("x{;a}", "x;a=") == {"a": ""}
    for uri in ("x", "x;ab=1", "x;b=1", "x;a=1;b", "x;A=1"):
        assert match("x{;a}", uri) is None
    assert match("x{;a,b}", "x;a=1;b=2") == {"a": "1", "b": "2"}
    assert match("x{;a,b}", "x;b=2;a=1") is None
    assert match("x{;k*}", "x;k=a;k=b") == {"k": ["a", "b"]}
    assert match("x{;k*}", "x;k;k=") == {"k": ["", ""]}
    assert match("x{;k*}", "x;k=a;l=b") is None
    assert match("x{;k*}", "x") == {"k": []}


@pytest.mark.rule("URI-18")
def test_exploded_variables_are_lists() -> None:
    assert match("x{/p*}", "x/a/b/c") == {"p": ["a", "b", "c"]}
    assert match("x{/p*}", "x") == {"p": []}
    assert match("x{/p*}", "x/") == {"p": [""]}
    assert match("x{/p*}", "x//") == {"p": ["", ""]}
    assert match("x{/p*}", "x/a%2Fb/c") == {"p": ["a/b", "c"]}
    assert match("x{/p*}", "xa") is None
    assert match("x{/p*}", "x/a?b") is None
    assert match("x{.p*}", "x.a.b") == {"p": ["a", "b"]}
    assert match("x{.p*}", "x.a/b") is None
    assert match("{/p*}{.e}", "/a.b/c.d") == {"p": ["a.b", "c"], "e": "d"}


@pytest.mark.rule("URI-28")
def test_matching_does_not_judge_the_values() -> None:
    assert match("f://{p}", "f://..%2F..%2Fetc") == {"p": "../../etc"}
    assert match("f://{+p}", "f:///etc/%00") == {"p": "/etc/\0"}


# Expansion


@pytest.mark.rule("URI-20")
@pytest.mark.parametrize(
    ("template", "value", "uri"),
    [
        ("{a}", "é/:~-._!", "%C3%A9%2F%3A~-._%21"),
        ("{.a}", "é/:~-._!", ".%C3%A9%2F%3A~-._%21"),
        ("{/a}", "a b", "/a%20b"),
        ("{;a}", "1,2", ";a=1%2C2"),
        ("{?a}", "1&2", "?a=1%262"),
        ("{&a}", "%41", "&a=%2541"),
        ("{+a}", "é/:~-._!", "%C3%A9/:~-._!"),
        ("{+a}", "%41%2f", "%41%2f"),
        ("{+a}", "%2G%%20%", "%252G%25%20%25"),
        ("{#a}", "100% é", "#100%25%20%C3%A9"),
        ("é {a}}", "x", "é x}"),
    ],
)
def test_values_are_encoded_as_their_operator_says(template: str, value: str, uri: str) -> None:
    assert expand(template, {"a": value}) == uri


@pytest.mark.rule("URI-21")
@pytest.mark.parametrize(
    ("template", "values", "uri"),
    [
        ("x{a}{?b,c}", {}, "x"),
        ("{a,b}", {"b": "1"}, "1"),
        ("{/a,b}", {"b": "1"}, "/1"),
        ("{?a,b}", {"b": "1"}, "?b=1"),
        ("{;a}", {"a": ""}, ";a"),
        ("{?a}", {"a": ""}, "?a="),
        ("{&a}", {"a": ""}, "&a="),
        ("{#a}", {"a": ""}, "#"),
        ("{a}", {"a": ["x", "y,z"]}, "x,y%2Cz"),
        ("{/a}", {"a": ["x", "y"]}, "/x,y"),
        ("{;a}", {"a": ["x", "y"]}, ";a=x,y"),
        ("{?a}", {"a": ["x", "y"]}, "?a=x,y"),
        ("{/a*}", {"a": ["x", "y/z"]}, "/x/y%2Fz"),
        ("{.a*}", {"a": ["x", "y"]}, ".x.y"),
        ("{;a*}", {"a": ["x", ""]}, ";a=x;a"),
        ("{;a*}", {"a": "x"}, ";a=x"),
        ("{/a*}{?c}", {"a": [], "c": []}, ""),
        ("{a}", {"a": "1", "z": "2"}, "1"),
    ],
)
def test_missing_empty_and_list_values(template: str, values: Values, uri: str) -> None:
    assert expand(template, values) == uri


@pytest.mark.rule("URI-21")
@pytest.mark.parametrize("value", [1, None, b"a", bytearray(b"a"), ["a", 1], {"k": "v"}, {"s"}])
def test_other_values_are_refused_by_type(value: object) -> None:
    with pytest.raises(TypeError) as caught:
        UriTemplate.parse("{a}").expand({"a": value})  # pyright: ignore[reportArgumentType]
    assert str(caught.value) == f"Variable 'a' must be str or a sequence of str, got {type(value).__name__}"


# Both ways

_LITERALS = st.sampled_from(["x", "/", "-", ".", "//", "a-b", ";", "=", "x/y", "é", "%41"])
_PLAIN = 'gxz0-_~ é"%'
"""No reserved character and no hexadecimal digit after a "%": such text reads the same under every operator."""


@st.composite
def templates_with_values(draw: st.DrawFn, operators: str, text: st.SearchStrategy[str]) -> tuple[UriTemplate, Values]:
    names = iter("abcdefghij")
    source = ""
    values: Values = {}
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            source += draw(_LITERALS)
        operator = draw(st.sampled_from(["", *operators]))
        group: list[str] = []
        for _ in range(draw(st.integers(1, 2))):
            name = next(names)
            explode = operator in ("/", ".", ";") and draw(st.booleans())
            group.append(name + "*" * explode)
            values[name] = draw(st.lists(text, max_size=3)) if explode else draw(text)
        source += "{" + operator + ",".join(group) + "}"
    try:
        return UriTemplate.parse(source), values
    except InvalidUriTemplate:
        return UriTemplate.parse("x{a}"), {"a": draw(text)}


def path_parameters(template: UriTemplate) -> list[str]:
    return [variable.name for variable in template.variables if variable.operator == ";"]


def assert_stable(template: UriTemplate, values: Values) -> None:
    uri = template.expand(values)
    found = template.match(uri)
    if found is None or any(found.get(name) == "" != values.get(name) for name in path_parameters(template)):
        return  # some values, such as a dot in {.a}, write a URI of another shape; `;a=` cut to nothing is written `;a`
    assert template.expand(found) == uri


@pytest.mark.rule("URI-22")
@settings(max_examples=400, deadline=None)
@given(templates_with_values("./;?&", st.text(st.characters(exclude_categories=["Cs"]), max_size=5)))
def test_a_matched_uri_expands_to_itself(case: tuple[UriTemplate, Values]) -> None:
    assert_stable(*case)


@pytest.mark.rule("URI-22")
@settings(max_examples=400, deadline=None)
@given(templates_with_values("+#./;?&", st.text(_PLAIN, max_size=5)))
def test_a_matched_uri_expands_to_itself_with_reserved_expansion(case: tuple[UriTemplate, Values]) -> None:
    assert_stable(*case)


@pytest.mark.rule("URI-10")
@settings(max_examples=300, deadline=None)
@given(templates_with_values("+#./;?&", st.text(_PLAIN, max_size=3)), st.text(max_size=40))
def test_matching_never_raises(case: tuple[UriTemplate, Values], uri: str) -> None:
    template, values = case
    template.match(uri)
    template.match(template.expand(values) + uri)
