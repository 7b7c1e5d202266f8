"""Writes the LLVM code by which Python calls kernels of a library.

Of each kernel there is one function. It is given the address of the tuple of arguments, and that of what this
Python is like (``PYTHON_AT`` of ``territorial.jit.arguments``). It calls the first form of the kernel that is
compiled for such arguments. CPython keeps the fields of its objects where they are since 3.12, numpy since
1.7; whole numbers of Python 3.11 are told apart. Other objects than those read here are left to Python.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from territorial.jit import arguments as known
from territorial.jit.library import FAILED, MISMATCH

DATA, NUM_DIMS, SHAPE, STRIDES, DTYPE, ARRAY_FLAGS = 0, 8, 16, 24, 40, 48
"""How many bytes behind what all objects have the fields of arrays are."""
FLAGS_OF_TYPE, IS_TUPLE = 152, 1 << 26
NUM_ITEMS = 0
DIGIT = 8
"""Where a whole number has its lowest digit, of 30 bits; before it are its sign and how many there are."""
BOOL, INT, FLOAT = (known.KINDS.index(kind) for kind in ("?", "i8", "f8"))
"""The numbers that Python itself has."""


class Form(NamedTuple):
    """A form of a kernel: its function, the types of its arguments for LLVM, and their signature."""

    symbol: str
    kinds: Sequence[str]
    takes: Sequence[int | str]

    @property
    def code(self) -> str:
        """The name of the function that takes the arguments as numba passes them."""
        return f"{self.symbol}_code"

    @property
    def is_read(self) -> bool:
        """Whether its arguments can be read here."""
        return all(
            isinstance(one, int) and (one < 0 or one in (BOOL, INT, FLOAT) or one >= known.ARRAYS)
            for one in self.takes
        )


def caller(name: str, forms: Iterable[Form]) -> str:
    """Return the text of the function ``name``, which calls a kernel that has these forms."""
    function, declared = _Function(), []
    for form in forms:
        if form.is_read:
            declared.append(f"declare i32 @{form.code}({', '.join(['ptr', 'ptr', *form.kinds])})")
            function.add(form)
    return "\n".join(
        [
            *declared,
            "declare i64 @llvm.abs.i64(i64, i1)",
            f"define i64 @{name}(ptr %arguments, ptr %python) {{",
            "  %result = alloca i64",
            "  %error = alloca ptr",
            *function.lines,
            f"  ret i64 {MISMATCH}",
            "}",
        ]
    )


class _Function:
    """The text of a function, written line by line; ``mismatch`` is where it goes from a failed check."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.mismatch = ""
        self._names = 0

    def add(self, form: Form) -> None:
        """Write what calls a form, if the arguments are such as it takes."""
        self.mismatch, codes = self.name(), list(form.takes)
        words = self.words("%arguments", codes, _num_outer(codes))
        given = [f"{kind} {self.narrowed(word, kind)}" for kind, word in zip(form.kinds, words, strict=True)]
        self.lines += ["  store i64 0, ptr %result"]
        status = self.let(f"call i32 @{form.code}(ptr %result, ptr %error, {', '.join(given)})")
        is_done = self.let(f"icmp eq i32 {status}, 0")
        is_none = self.let(f"icmp eq i32 {status}, -2")
        result = self.let("load i64, ptr %result")
        failed = self.let(f"add i64 {self.let(f'zext i32 {status} to i64')}, {FAILED}")
        is_done = self.let(f"or i1 {is_done}, {is_none}")
        self.lines += [
            f"  ret i64 {self.let(f'select i1 {is_done}, i64 {result}, i64 {failed}')}",
            f"{self.mismatch}:",
        ]

    def narrowed(self, word: str, kind: str) -> str:
        """Return a word as the type that a kernel takes it as."""
        if kind in ("i1", "i8"):
            return self.let(f"trunc i64 {word} to {kind}")
        return self.let(f"bitcast i64 {word} to double") if kind == "double" else word

    def name(self) -> str:
        self._names += 1
        return f"n{self._names}"

    def let(self, code: str) -> str:
        """Write an instruction, and return the name of its result."""
        name = f"%{self.name()}"
        self.lines.append(f"  {name} = {code}")
        return name

    def load(self, kind: str, place: str, offset: int | str = 0) -> str:
        """Load what is ``offset`` bytes behind ``place``."""
        at = self.let(f"getelementptr i8, ptr {place}, i64 {offset}")
        return self.let(f"load {kind}, ptr {at}")

    def fact(self, number: int) -> str:
        """Load what is known of this Python."""
        return self.load("i64", "%python", 8 * number)

    def check(self, kind: str, found: str, wanted: str, how: str = "eq") -> None:
        """Go to the next form unless these are the same."""
        is_so, on = self.let(f"icmp {how} {kind} {found}, {wanted}"), self.name()
        self.lines += [f"  br i1 {is_so}, label %{on}, label %{self.mismatch}", f"{on}:"]

    def behind_head(self, value: str) -> str:
        """Return where the fields of an object begin that are its own."""
        return self.let(f"getelementptr i8, ptr {value}, i64 {self.fact(known.OBJECT_BYTES)}")

    def type_of(self, value: str) -> str:
        """Return the address of the type of an object, which is the last of what every object has."""
        return self.load("i64", self.behind_head(value), -8)

    def items_of(self, values: str, count: int) -> list[str]:
        """Return the objects in a tuple, which has to have so many."""
        self.check("i64", self.load("i64", self.behind_head(values), NUM_ITEMS), str(count))
        items = self.let(f"getelementptr i8, ptr {values}, i64 {self.fact(known.TUPLE_BYTES)}")
        return [self.load("ptr", items, 8 * i) for i in range(count)]

    def array(self, value: str, code: int) -> list[str]:
        """Return the words of an array that has to be such as ``code`` says."""
        number, dims, flags = code >> 20, code >> 12 & 0xFF, code & 0xFFF
        self.check("i64", self.type_of(value), self.fact(known.ARRAY))
        own = self.behind_head(value)
        self.check("i64", self.load("i64", own, DTYPE), self.fact(known.DTYPES + number))
        self.check("i32", self.load("i32", own, NUM_DIMS), str(dims))
        told_by = known.FLAGS if flags & known.IN_C_ORDER else known.FLAGS | known.IN_FORTRAN_ORDER
        seen = self.let(f"and i32 {self.load('i32', own, ARRAY_FLAGS)}, {told_by}")
        self.check("i32", seen, str(flags))
        count, shape, strides = "1", self.load("ptr", own, SHAPE), self.load("ptr", own, STRIDES)
        sizes = [self.load("i64", shape, 8 * i) for i in range(dims)]
        steps = [self.load("i64", strides, 8 * i) for i in range(dims)]
        for size in sizes:
            count = self.let(f"mul i64 {count}, {size}")
        return ["null", "null", count, str(known.SIZES[number]), self.load("ptr", own, DATA), *sizes, *steps]

    def number(self, value: str, kind: int) -> str:
        """Return a number of Python's as a word."""
        if kind == BOOL:
            address = self.let(f"ptrtoint ptr {value} to i64")
            is_true = self.let(f"icmp eq i64 {address}, {self.fact(known.TRUE)}")
            is_false = self.let(f"icmp eq i64 {address}, {self.fact(known.FALSE)}")
            self.check("i1", self.let(f"or i1 {is_true}, {is_false}"), "true")
            return self.let(f"zext i1 {is_true} to i64")
        own = self.behind_head(value)
        if kind == FLOAT:
            self.check("i64", self.type_of(value), self.fact(known.FLOAT))
            return self.load("i64", own)
        self.check("i64", self.type_of(value), self.fact(known.INT))
        head, digit = self.load("i64", own), self.let(f"zext i32 {self.load('i32', own, DIGIT)} to i64")
        is_tagged = self.let(f"icmp ne i64 {self.fact(known.INT_IS_TAGGED)}, 0")
        sign = self.let(f"sub i64 1, {self.let(f'and i64 {head}, 3')}")
        count = self.let(f"lshr i64 {head}, 3")
        other = self.let(f"call i64 @llvm.abs.i64(i64 {head}, i1 false)")
        count = self.let(f"select i1 {is_tagged}, i64 {count}, i64 {other}")
        sign = self.let(f"select i1 {is_tagged}, i64 {sign}, i64 {head}")
        self.check("i64", count, "1", "ule")
        return self.let(f"mul i64 {sign}, {digit}")

    def words(self, values: str, codes: list[int], count: int) -> list[str]:
        """Return the words of ``count`` objects in a tuple, and take what they are from ``codes``."""
        words: list[str] = []
        for item in self.items_of(values, count):
            code = codes.pop(0)
            if code < 0:
                kind = self.let(f"inttoptr i64 {self.type_of(item)} to ptr")
                flags = self.load("i64", self.behind_head(kind), FLAGS_OF_TYPE)
                self.check("i64", self.let(f"and i64 {flags}, {IS_TUPLE}"), str(IS_TUPLE))
                words += self.words(item, codes, ~code)
            else:
                words += self.array(item, code) if code >= known.ARRAYS else [self.number(item, code)]
        return words


def _num_outer(codes: list[int]) -> int:
    """Return how many arguments a signature has: what is in a tuple counts with the tuple."""
    count = place = 0
    while place < len(codes):
        place = _end_of(codes, place)
        count += 1
    return count


def _end_of(codes: list[int], place: int) -> int:
    """Return where in a signature the argument ends that begins at ``place``."""
    end = place + 1
    for _ in range(~codes[place] if codes[place] < 0 else 0):
        end = _end_of(codes, end)
    return end
