"""Rules for what is not Rust: expressions of Python and C, fences of Markdown, doubled items.

Pure. Reads the text around the place rustc stumbled on, since a tree of a broken file is a
guess. Rewrites; what is no code at all becomes a comment. Deletes only what is there twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from critic.review import Diagnostic, Span
from critic.rules.source import Parts, Source, descendants, field
from critic.tokens import tokens

_OPEN, _CLOSE = b"([{", b")]}"


def _line(source: Source, at: int) -> tuple[int, int]:
    """Start and end of the line around an offset."""
    start = source.content.rfind(b"\n", 0, at) + 1
    end = source.content.find(b"\n", at)
    return start, len(source.content) if end < 0 else end


def _back(content: bytes, at: int) -> int:
    """The start of the operand that ends at `at`: to the bracket, comma or `=` that opens it."""
    depth, i, quote = 0, at, False
    while i > 0:
        char = content[i - 1 : i]
        if char == b'"' and content[i - 2 : i - 1] != b"\\":
            quote = not quote
        if not quote:
            if char in (b")", b"]", b"}"):
                depth += 1
            elif char in (b"(", b"[", b"{"):
                if depth == 0:
                    break
                depth -= 1
            elif depth == 0 and char in (b",", b";", b"\n"):
                break
            elif depth == 0 and char == b"=" and content[i - 2 : i - 1] not in b"=!<>+-*/%":
                if content[i : i + 1] not in (b"=", b">"):
                    break
            elif depth == 0 and char == b">" and content[i - 2 : i - 1] == b"=":
                break
        i -= 1
    return i + len(content[i:at]) - len(content[i:at].lstrip())


def _forward(content: bytes, at: int) -> int:
    """The end of the operand that starts at `at`: before the bracket, comma or `;` that ends it."""
    depth, i, quote = 0, at, False
    while i < len(content):
        char = content[i : i + 1]
        if char == b'"' and content[i - 1 : i] != b"\\":
            quote = not quote
        if not quote:
            if char in (b"(", b"[", b"{"):
                depth += 1
            elif char in (b")", b"]", b"}"):
                if depth == 0:
                    break
                depth -= 1
            elif depth == 0 and char in (b",", b";", b"\n"):
                break
        i += 1
    return at + len(content[at:i].rstrip())


def _primary(diagnostic: Diagnostic) -> Span | None:
    return diagnostic.primary


def conditional(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """Python's `a if c else b`: `if c { a } else { b }`."""
    span = _primary(diagnostic)
    if span is None:
        return
    content = source.content
    start, end = _line(source, span.byte_start)
    for match in re.finditer(rb"\bif\b", content[start:end]):
        at = start + match.start()
        begin = _back(content, at)
        before = content[begin:at].strip()
        keyword = re.match(rb"(return|break|let\b[^=]*=)\s+", before)
        if keyword:
            begin += keyword.end()
            before = content[begin:at].strip()
        after = re.compile(rb"\belse\b").search(content, at, end)
        if not before or after is None or b"else" in before or b"{" in content[at : after.start()]:
            continue
        stop = _forward(content, after.end())
        condition = content[at + 2 : after.start()].strip().decode(errors="replace")
        other = content[after.end() : stop].strip().decode(errors="replace")
        if condition and other and not other.startswith("{"):
            text = f"if {condition} {{ {before.decode(errors='replace')} }} else {{ {other} }}"
            yield ((begin, stop, text),)
            return


def ternary(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """C's `c ? a : b`: `if c { a } else { b }`."""
    span = _primary(diagnostic)
    if span is None or diagnostic.message != "Rust has no ternary operator":
        return
    content = source.content
    begin = _back(content, span.byte_start)
    keyword = re.match(rb"(?:return|let\b[^=]*=)\s+", content[begin : span.byte_start])
    begin += keyword.end() if keyword else 0
    branches = re.fullmatch(
        r"\?\s*([^?:]+?)\s*:\s*([^?:]+)", source.slice(span.byte_start, span.byte_end)
    )
    condition = source.slice(begin, span.byte_start).strip()
    if branches and condition:
        text = f"if {condition} {{ {branches[1]} }} else {{ {branches[2]} }}"
        yield ((begin, span.byte_end, text),)


def membership(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """Python's `x in xs` and `x not in xs`, all of the file: `xs.contains(&x)`."""
    span = _primary(diagnostic)
    if span is None or not re.search(r"found (?:keyword `in`|`not`|`in`)", diagnostic.message):
        return
    found = list(_memberships(source.content, span.byte_start))
    if not any(begin <= span.byte_start < stop for begin, stop, _, _ in found):
        return
    for reference in ("&", ""):
        yield tuple(
            (begin, stop, before + ("" if item.startswith("&") else reference) + item + ")")
            for begin, stop, before, item in found
        )


def _memberships(content: bytes, first: int) -> Iterator[tuple[int, int, str, str]]:
    """(start, end, text before the item, item) of each `in` that is no part of a `for`."""
    start = content.rfind(b"\n", 0, first) + 1
    ended = start
    for match in re.finditer(rb"(?:\bnot\s+)?\bin\b", content[start:]):
        at, after = start + match.start(), start + match.end()
        line = content[content.rfind(b"\n", 0, at) + 1 : at]
        if re.search(rb"\bfor\b[^{]*$", line) or line.count(b'"') % 2 or b"//" in line:
            continue
        begin, stop = _operand_back(content, at), _operand_forward(content, after)
        item = content[begin:at].strip().decode(errors="replace")
        items = content[after:stop].strip().decode(errors="replace")
        if not item or not items or begin < ended:
            continue
        ended = stop
        bang = "!" if match.group().startswith(b"not") else ""
        loose = ".." in items and not items.startswith(("(", "["))
        holder = f"({items})" if loose or items[0] in "&*" else items
        inner = f"({item})" if re.search(r"[-+*/%]|\bas\b", item) else item
        yield begin, stop, f"{bang}{holder}.contains(", inner


def _operand_back(content: bytes, at: int) -> int:
    begin = _back(content, at)
    inner = content[begin:at]
    for match in re.finditer(
        rb"&&|\|\||\|[^|]*\|\s|\b(?:if|while|return|not|and|or|match)\b", inner
    ):
        begin = at - len(inner) + match.end()
    return begin + len(content[begin:at]) - len(content[begin:at].lstrip())


def _operand_forward(content: bytes, at: int) -> int:
    depth, i = 0, at
    while i < len(content):
        char = content[i : i + 1]
        if char in (b"(", b"["):
            depth += 1
        elif char in (b")", b"]"):
            if depth == 0:
                break
            depth -= 1
        elif depth == 0 and (
            char in (b",", b";", b"{", b"\n")
            or content[i : i + 2] in (b"&&", b"||", b"==")
            or re.compile(rb"\b(?:and|or|else)\b").match(content, i)
        ):
            break
        i += 1
    return at + len(content[at:i].rstrip())


def power(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """Python's `a ** b`: `a.pow(b as u32)`."""
    span = _primary(diagnostic)
    if span is None:
        return
    content = source.content
    for binary in descendants(source.root, "binary_expression"):
        if not binary.start_byte <= span.byte_start < binary.end_byte:
            continue
        left, right, operator = (field(binary, n) for n in ("left", "right", "operator"))
        if left is None or right is None or operator is None or operator.type != "*":
            continue
        if right.type != "unary_expression" or not source.text(right).startswith("*"):
            continue
        if (
            content[operator.end_byte : right.start_byte].strip()
            or right.start_byte != operator.end_byte
        ):
            continue
        exponent = source.text(right)[1:].strip()
        base = source.text(left)
        if left.type == "binary_expression":
            left = field(left, "right")
            if left is None:
                continue
            base = source.text(left)
        if re.fullmatch(r"\d+", base):
            base += "_i32"
        yield ((left.start_byte, right.end_byte, f"({base}).pow(({exponent}) as u32)"),)
        return


def else_if(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`elif` and `elsif`: `else if`; every one of the file, as one mistake."""
    if not re.search(r"\bfound\b|expected", diagnostic.message):
        return
    span = _primary(diagnostic)
    if span is None:
        return
    start, end = _line(source, span.byte_start)
    if not re.search(rb"\b(?:elif|elsif|elseif)\b", source.content[start:end]):
        return
    yield tuple(
        (m.start(), m.end(), "else if")
        for m in re.finditer(rb"\b(?:elif|elsif|elseif)\b", source.content)
    )


def words(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`True`, `False`, `null` and `nil` of other languages."""
    span = _primary(diagnostic)
    if span is None:
        return
    known = {"True": "true", "False": "false", "null": "None", "nil": "None"}
    text = source.slice(span.byte_start, span.byte_end)
    if text in known:
        yield ((span.byte_start, span.byte_end, known[text]),)


def swap(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`a, b = b, a`: `(a, b) = (b, a)`."""
    span = _primary(diagnostic)
    if span is None:
        return
    for at in (span.byte_start, span.byte_start - 1):
        start, end = _line(source, max(at, 0))
        line = source.content[start:end]
        match = re.fullmatch(
            rb"(\s*)((?:[\w.\[\]]+\s*,\s*)+[\w.\[\]]+)\s*=\s*([^=;{}][^;{}]*?)(;?)(\s*)", line
        )
        if match and b"," in match[3] and not match[2].startswith(b"let"):
            left, right = match[2].decode(), match[3].decode(errors="replace")
            text = f"{match[1].decode()}({left}) = ({right});"
            yield ((start, end - len(match[5]), text),)
            return


def whole_division(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """Python's `a // b` starts a comment here: `a / b`, where the line misses its end."""
    span = _primary(diagnostic)
    if span is None or not re.match(r"expected .*(?:`;`|operator)", diagnostic.message):
        return
    start, end = _line(source, max(span.byte_start - 1, 0))
    match = re.search(rb"[\w)\]]\s*(//)\s*([\w(][\w\s().+*/%-]*);\s*$", source.content[start:end])
    if match:
        yield ((start + match.start(1), start + match.end(1), "/"),)


def fences(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """Markdown around the code: fences and the prose outside them become comments."""
    if diagnostic.code is not None:
        return
    lines = list(re.finditer(rb"^[ \t]*```[^\n]*$", source.content, re.MULTILINE))
    if not lines:
        return
    inside, parts = lines[0].group().strip() != b"```", []
    if inside:
        parts += _commented(source.content, 0, lines[0].start())
    opened = False
    for number, fence in enumerate(lines):
        parts.append((fence.start(), fence.start(), "// "))
        opened = not opened
        if not opened or (number == 0 and not inside):
            following = lines[number + 1].start() if number + 1 < len(lines) else None
            parts += _commented(source.content, fence.end(), following or len(source.content))
            opened = False
    yield tuple(parts)


def _commented(content: bytes, start: int, end: int) -> list[tuple[int, int, str]]:
    return [
        (start + m.start(), start + m.start(), "// ")
        for m in re.finditer(rb"^(?=[ \t]*[^\s/])", content[start:end], re.MULTILINE)
        if start + m.start() == 0 or content[start + m.start() - 1 : start + m.start()] == b"\n"
    ]


def closing_brace(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """One `}` too many between items: it closes nothing."""
    span = _primary(diagnostic)
    if span is None or not diagnostic.message.startswith("unexpected closing delimiter"):
        return
    start, end = _line(source, span.byte_start)
    if source.content[start:end].strip() == b"}":
        yield ((span.byte_start, span.byte_end, ""),)


def unclosed(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """A `}` too few: before the next item that starts a line, else at the end."""
    if diagnostic.message != "this file contains an unclosed delimiter":
        return
    stack: list[bytes] = []
    for token in tokens(source.content):
        text = source.content[token.start : token.end]
        starts_line = source.content[token.start - 1 : token.start] in (b"", b"\n")
        if stack and starts_line and text in (b"fn", b"pub", b"struct", b"impl", b"enum", b"#"):
            if set(stack) == {b"{"}:
                yield ((token.start, token.start, "}\n" * len(stack)),)
            return
        if text in (b"(", b"[", b"{"):
            stack.append(text)
        elif text in (b")", b"]", b"}") and stack:
            stack.pop()
    if stack and set(stack) == {b"{"}:
        end = len(source.content)
        yield ((end, end, "\n" + "}\n" * len(stack)),)


def _items(root: Node) -> Iterator[Node]:
    for child in root.children:
        if child.type in (
            "function_item",
            "struct_item",
            "enum_item",
            "use_declaration",
            "const_item",
        ):
            yield child


def doubled(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """An item that is there twice, word for word, or a second `main` beside the tests' own."""
    match = re.match(r"the name `(\w+)` is defined multiple times", diagnostic.message)
    if match is None:
        return
    named = [
        item
        for item in _items(source.root)
        if (name := field(item, "name")) is not None and source.text(name) == match[1]
    ]
    if len(named) != 2:
        return
    first, second = named
    if source.text(first).split() == source.text(second).split():
        yield ((second.start_byte, second.end_byte, ""),)
    elif match[1] == "main":
        demos = [item for item in named if not _asserts(source, item)]
        if len(demos) == 1:
            yield ((demos[0].start_byte, demos[0].end_byte, ""),)


def _asserts(source: Source, item: Node) -> bool:
    text = source.text(item)
    return "assert" in text or bool(re.search(r"\btest_?\w*\(", text))
