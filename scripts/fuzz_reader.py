"""Compare the strict JSON reader with `json.loads` on random documents, most of them broken.

    python scripts/fuzz_reader.py [--documents 200000] [--seed 1]

The reference reads the whole text with the standard library and applies the rules of the design to the
result, so it shares no line with the reader. Each document is read in several chunkings with small
slices, so that every byte of every token is a border at some time. A difference is printed as a Python
expression, and the exit status is 1.
"""

import argparse
import json
import math
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from typing import Any

from sshfacts.adapters import json_reader
from sshfacts.errors import Refusal
from sshfacts.limits import ReadLimits
from sshfacts.values import JsonValue

ROOMY = ReadLimits(bytes=4096)
TIGHT = ReadLimits(bytes=400, depth=3, values=20, items=6, members=3, name=4, string=8, number=6)

SEEDS = (
    rb'{"a":1,"b":[true,false,null],"c":{"d":"e"}}',
    rb"[0,-1,1.5,-0.0,1e5,1E+2,2e-3,9007199254740991,-9007199254740992,1e400,1e-400]",
    rb'{"a":"\ud83d\ude00 \u00e9 \u0041 \n\t\r \" \\ \/","b":"\b\f\u0000\u007f\u009b"}',
    rb'["\ud800","\udc00\ud800","\uDBFF\uDFFF","\uFDD0","\ufffe","\ud83f\udffe"]',
    '{"é":"ü€😀","\u2028":"\ufeff"}'.encode(),
    b'["\xc2\x9b","\xef\xbf\xbf","\xf4\x8f\xbf\xbf","\xed\xa0\x80","\xc0\xaf","\x7f"]',
    b'{"a":1,"a":2}',
    rb'{"a":1,"\u0061":2}',
    b"[[[[[[]]]]],{}]",
    b'{}"abc',
    b"[123456789012345678901234567890123456789]",
    b"[1 , 2\t,\r\n3 ]\r\n",
    b"[\x0b1,\x0c2]\n",
    b"[1.75,truefalse,nul,-,+1,01,.5,5.,1e,0x10,NaN]",
)
PIECES = (
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b" ", b"\n", b"\r\n", b"\t"),
    *(b"\x00", b"\x0b", b"\x7f", b"\xff", b"\xef\xbb\xbf", b"\xc3\xa9", b"\xc2\x80", b"/*", b"//"),
    *(b'"a"', b'"a":1', b'"":""', b"true", b"false", b"null", b"tru"),
    *(b"1", b"-0", b"-0.0", b"1.5e3", b"9007199254740993", b"1e999"),
    *(rb"\u0041", rb"\ud83d\ude00", rb"\ud800", rb"\udfff", rb"\n", rb"\b", rb"\x"),
)
BEGINNINGS = (b"", b"[", b"{", b'{"a":', b'["')
ENDS = (b"", b"]", b"}", b'"]', b"\n")


class Refused(Exception):
    """The reference refuses a document."""


def reference(data: bytes, limits: ReadLimits) -> JsonValue:
    """Return what the reader must return.

    Raises:
        Refused: the reader must refuse.
    """
    body = data.removesuffix(b"\n").removesuffix(b"\r") if data.endswith(b"\n") else data
    if len(data) > limits.bytes or body[:1] not in (b"{", b"[") or body[-1:] not in (b"}", b"]"):
        raise Refused

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        _require(len(found) == len(pairs) <= limits.members)
        return found

    try:
        document: JsonValue = json.loads(
            body.decode(),
            object_pairs_hook=members,
            parse_int=lambda token: _integer(token, limits),
            parse_float=lambda token: _float(token, limits),
            parse_constant=lambda _: _require(condition=False),
        )
    except (ValueError, RecursionError):
        raise Refused from None
    _require(_count(document, limits, 1) <= limits.values)
    return document


def _require(condition: bool) -> None:  # noqa: FBT001 - the only argument
    if not condition:
        raise Refused


def _integer(token: str, limits: ReadLimits) -> int:
    _require(len(token) <= limits.number)
    _require(abs(int(token)) < 2**53)
    return int(token)


def _float(token: str, limits: ReadLimits) -> float:
    _require(len(token) <= limits.number)
    value = float(token)
    zero = not any(digit in "123456789" for digit in token.lower().partition("e")[0])
    _require(math.isfinite(value) and (value != 0) != zero)
    if value.is_integer() and abs(value) < 2**53:
        _require(Fraction(token) == value)  # a fraction that rounds to a whole number is none
    return value or 0.0


def _count(value: JsonValue, limits: ReadLimits, depth: int) -> int:
    """Return the number of values, after all bounds but that number are known to hold."""
    if isinstance(value, str):
        _require(len(value) <= limits.string and not any(map(_forbidden, value)))
        return 1
    if not isinstance(value, list | dict):
        return 1
    _require(depth <= limits.depth)
    if isinstance(value, list):
        _require(len(value) <= limits.items)
        return 1 + sum(_count(item, limits, depth + 1) for item in value)
    for name in value:
        _require(len(name) <= limits.name and not any(map(_forbidden, name)))
    return 1 + sum(_count(item, limits, depth + 1) for item in value.values())


def _forbidden(character: str) -> bool:
    code = ord(character)
    control = (code < 0x20 and character not in "\t\n\r") or 0x7F <= code < 0xA0
    surrogate = 0xD800 <= code < 0xE000
    noncharacter = 0xFDD0 <= code < 0xFDF0 or code & 0xFFFE == 0xFFFE
    return control or surrogate or noncharacter


def documents(chance: random.Random) -> Iterator[bytes]:
    """Yield documents without end: well-formed, mutated, and made of random tokens."""
    while True:
        shape = chance.random()
        if shape < 0.35:
            data = chance.choice(SEEDS)
        elif shape < 0.8:
            data = _generated(chance)
        else:
            data = b"".join(chance.choices(PIECES, k=chance.randrange(1, 12)))
            data = (
                chance.choice((b"", b"[", b"{", b'{"a":', b'["'))
                + data
                + chance.choice((b"", b"]", b"}", b'"]', b"\n"))
            )
        for _ in range(chance.choice((0, 0, 0, 1, 1, 2))):
            data = _mutated(data, chance)
        yield data


def _generated(chance: random.Random) -> bytes:
    text = json.dumps(
        _value(chance, chance.randrange(1, 5), container=True),
        ensure_ascii=chance.random() < 0.5,
        separators=chance.choice(((",", ":"), (", ", ": "), ("\n,\t", " : "))),
    )
    return text.encode("utf-8", "surrogatepass") + chance.choice((b"", b"", b"\n", b"\r\n", b"\n\n", b" "))


def _value(chance: random.Random, depth: int, *, container: bool) -> JsonValue:
    kind = chance.randrange(2) if container else chance.randrange(8)
    if kind < 2 and depth > 0:
        size = chance.randrange(5)
        if kind:
            return [_value(chance, depth - 1, container=False) for _ in range(size)]
        return {_text(chance): _value(chance, depth - 1, container=False) for _ in range(size)}
    scalars = (
        None,
        True,
        chance.randrange(-1000, 1000),
        chance.choice((2**53 - 1, 2**53, -(2**53), 10**30, 0)),
        chance.choice((-0.0, 0.1, 1e300, 5e-324, chance.random(), chance.uniform(-1e9, 1e9))),
        _text(chance),
        _text(chance),
    )
    return chance.choice(scalars)


def _text(chance: random.Random) -> str:
    alphabet = 'ab01 "\\/\n\t\r\b\0\x7f\x80é€\u2028\ufdd0\uffff\ufeff😀\U0001ffff'
    plain = chance.random() < 0.95
    return "".join(chance.choices("abc012 e.-" if plain else alphabet, k=chance.randrange(8)))


def _mutated(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    other = chance.randrange(at, min(len(data), at + 6) + 1)
    piece = chance.choice((chance.choice(PIECES), bytes((chance.randrange(256),)), b""))
    return data[:at] + piece + data[other if chance.random() < 0.6 else at :]


def observed(data: bytes, limits: ReadLimits, sizes: Iterator[int]) -> JsonValue:
    """Return what the reader makes of a document that arrives in chunks of these sizes."""
    reader = json_reader.JsonReader(limits)
    start = 0
    while start < len(data):
        end = start + next(sizes)
        reader.feed(data[start:end])
        start = end
    return reader.close()


def _chunkings(chance: random.Random, length: int) -> Iterator[Iterator[int]]:
    yield iter((max(length, 1),))
    yield iter(lambda: 1, 0)
    yield iter(lambda: 7, 0)
    yield iter(lambda: chance.randrange(1, 40), 0)


@dataclass
class Tally:
    """What a run found."""

    accepted: int = 0
    refused: int = 0
    differences: list[str] = field(default_factory=list)


def compare(data: bytes, limits: ReadLimits, chance: random.Random, tally: Tally) -> None:
    """Read one document by the reference and by the reader in several chunkings, and note what differs."""
    try:
        # repr tells 1, 1.0 and True apart, and 0.0 and -0.0.
        expected = repr(reference(data, limits))
        tally.accepted += 1
    except Refused:
        expected = "refused"
        tally.refused += 1
    for number, sizes in enumerate(_chunkings(chance, len(data))):
        json_reader.SLICE = chance.choice((1, 2, 5, 16, 7168))
        json_reader.COLLECT = chance.choice((1, 1, 3, 1024))
        try:
            found = repr(observed(data, limits, sizes))
        except Refusal:
            found = "refused"
        if found != expected:
            tally.differences.append(f"{data!r} {limits!r} chunking {number}: expected {expected}, found {found}")
            return


def run(count: int, seed: int) -> Tally:
    """Compare `count` documents."""
    chance = random.Random(seed)  # noqa: S311 - nothing here is secret
    sizes = json_reader.SLICE, json_reader.COLLECT
    tally = Tally()
    try:
        for data in islice(documents(chance), count):
            limits = TIGHT if chance.random() < 0.2 else ROOMY
            if chance.random() < 0.1:
                fields = ("depth", "values", "items", "members", "name", "string", "number")
                limits = replace(limits, **{chance.choice(fields): chance.randrange(12) for _ in range(2)})
            compare(data, limits, chance, tally)
    finally:
        json_reader.SLICE, json_reader.COLLECT = sizes
    return tally


def main() -> int:
    """Run the comparison that the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    tally = run(arguments.documents, arguments.seed)
    for difference in tally.differences[:20]:
        print(difference)
    print(f"{tally.accepted} accepted, {tally.refused} refused, {len(tally.differences)} differences")
    return bool(tally.differences)


if __name__ == "__main__":
    sys.exit(main())
