"""Every op of ops.def that a program can call, for every element type it takes and many shapes, beside
numpy in float64 (int64 for integers, which wrap), rounded to the type.

    python ops.py FLOWC [OP…]

An op without a peer here fails the test.
"""

import re
import sys
import tempfile
from pathlib import Path

import numpy
import torch

from library import ELEMENTS, Library, type_of

DTYPES = {name: dtype for dtype, name in ELEMENTS.items()}
FLOATING, INTEGER = ["f64", "f32", "f16", "bf16"], ["i64", "i32", "i8", "u8"]
TAKES = {"any": FLOATING + INTEGER + ["bool"], "number": FLOATING + INTEGER, "integer": INTEGER,
         "floating": FLOATING, "boolean": ["bool"]}
UNIT = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
SMALLEST = {"f64": 0.0, "f32": 1e-38, "f16": 2.0**-24, "bf16": 1e-38}
random = numpy.random.default_rng(11)

# Shapes: ranks 0, 1 and more, sizes of 1, primes, beside powers of two, more than a block.
SHAPES = [(), (1,), (7,), (33,), (1, 17), (129, 3), (2, 1, 3, 1, 5), (40009,)]
PAIRS = [((), ()), ((), (7,)), ((7,), ()), ((3, 5), (5,)), ((4, 1), (1, 6)), ((1,), (33,)), ((65,), (65,)),
         ((257, 63), (257, 1)), ((17, 1, 5), (1, 13, 1))]
TRIPLES = [((), (), ()), ((7,), (7,), (7,)), ((3, 1), (5,), ()), ((), (3, 5), (5,)), ((1, 17), (4, 1), (4, 17)),
           ((129,), (129,), (1,)), ((2, 1, 4), (3, 1), (2, 3, 4))]
REDUCTIONS = [((), None), ((1,), 0), ((7,), None), ((33,), 0), ((5, 17), 0), ((5, 17), 1), ((5, 17), None),
              ((3, 4, 5), (0, 2)), ((3, 4, 5), 1), ((3, 4, 5), (1, 2)), ((129, 65), 0), ((129, 65), -1), ((1, 9), 0),
              ((9, 1), 1), ((2, 3, 1, 7), (1, 3)), ((100003,), None), ((7, 5003), 1), ((5003, 7), 0)]
ROWS = [(1,), (7,), (33,), (5, 17), (3, 4, 31), (2, 1), (1, 1009)]
PRODUCTS = [((1, 1), (1, 1)), ((2, 3), (3, 4)), ((7, 13), (13, 5)), ((1, 33), (33, 1)), ((31, 1), (1, 17)),
            ((65, 63), (63, 129)), ((3, 4, 5), (5, 6)), ((3, 4, 5), (3, 5, 6)), ((2, 3, 7, 9), (2, 3, 9, 5)), ((130, 300), (300, 70))]
MOVES = [((), (1, 1)), ((6,), (2, 3)), ((4, 6), (3, 8)), ((5, 7, 3), (105,)), ((1, 1), ()), ((129, 3), (3, 129))]
SPREADS = [((), (5,)), ((1,), (7,)), ((5,), (3, 5)), ((4, 1), (4, 9)), ((1, 3, 1), (2, 3, 65)), ((7,), (7,))]
GATHERS = [((7,), ()), ((7,), (5,)), ((13, 5), (3, 4)), ((1, 3), (17,)), ((129, 33), (65,)), ((4, 2, 3), (1,))]


def sample(dtype, shape, kind="any"):
    """Values of that type, of a kind: any, positive, nonzero, ties, few, near (one)."""
    if dtype == "bool":
        return torch.tensor(random.integers(0, 2, shape), dtype=torch.bool)
    if dtype in INTEGER:
        info = torch.iinfo(DTYPES[dtype])
        few = kind in ("few", "ties")
        values = random.integers(0 if few or dtype == "u8" else info.min, 5 if few else info.max, shape, endpoint=True)
        values = numpy.where(values == 0, 3, values) if kind == "nonzero" else values
        return torch.tensor(values, dtype=torch.int64).to(DTYPES[dtype])
    values = 2 * random.standard_normal(shape)
    if kind == "positive":
        values = numpy.exp(values / 2)
    if kind == "nonzero":
        values = numpy.where(values < 0, values - 0.25, values + 0.25)
    if kind == "ties":
        values = numpy.round(4 * values) / 2
    if kind == "few":
        values = random.integers(-2, 3, shape).astype(float)
    if kind == "near":
        values = numpy.exp(values / 50)
    return torch.tensor(values, dtype=torch.float64).to(DTYPES[dtype])


def wide(tensor):
    return (tensor.double() if tensor.is_floating_point() else tensor if tensor.dtype == torch.bool else tensor.long()).numpy()


class Case:
    """A call in .flow over a, b, c …, its arguments, what it should give and how large the numbers
    were that were added for it (None: none were)."""

    def __init__(self, call, inputs, wanted, dtype, scale=None, facts=()):
        self.call, self.inputs, self.facts = call, inputs, facts
        values = torch.from_numpy(numpy.array(wanted))
        self.wanted = values.to(DTYPES[dtype])
        self.exact, self.scale, self.element = values, scale, dtype


def elementwise(name, dtype, function, shapes, kinds=("any",), gives=None):
    for operands in shapes:
        operands = operands if len(kinds) > 1 else (operands,)
        inputs = [sample("bool" if kind == "bool" else dtype, shape, kind) for shape, kind in zip(operands, kinds)]
        names = ", ".join("abc"[: len(inputs)])
        yield Case(f"{name}({names})", inputs, function(*map(wide, inputs)), gives or dtype)


def one(function, kind="any"):
    return lambda name, dtype: elementwise(name, dtype, function, SHAPES, (kind,))


def two(function, kinds=("any", "any"), gives=None):
    return lambda name, dtype: elementwise(name, dtype, function, PAIRS, kinds, gives)


def axes_text(axis):
    return "" if axis is None else f", axis = {list(axis) if isinstance(axis, tuple) else axis}"


def rounded_often(products, count):
    """The scale of products of so many factors: n roundings, each of at most a unit, go as far as a random
    walk of n steps, sqrt(n) units (Higham and Mary, 2019); twice that is allowed, of 64 that sums are."""
    return numpy.abs(products) * (1 + 2 * count**0.5 / 64)


def reduce(function, kind="any", added=False):
    def cases(name, dtype):
        for shape, axis in REDUCTIONS:
            a = sample(dtype, shape, kind)
            x = wide(a)
            wanted = function(x, axis)
            scale = numpy.abs(x).sum(axis) if added and dtype in FLOATING else None
            if name == "prod" and dtype in FLOATING:
                scale = rounded_often(wanted, x.size / wanted.size)
            yield Case(f"{name}(a{axes_text(axis)})", [a], wanted, dtype, scale)
            if shape != (5, 17):
                continue
            axis = (0, 1) if axis is None else axis
            keeps = numpy.expand_dims(wanted, axis)
            yield Case(f"{name}(a{axes_text(axis)}, keep = true)", [a], keeps, dtype,
                       None if scale is None else numpy.expand_dims(scale, axis))

    return cases


def place(function):
    """Of the first best one, counted through all reduced axes."""

    def of(x, axis):
        axis = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis % x.ndim,)
        kept = [i for i in range(x.ndim) if i not in axis]
        moved = numpy.transpose(x, kept + list(axis))
        return function(moved.reshape([x.shape[i] for i in kept] + [-1]), axis=-1)

    def cases(name, dtype):
        for shape, axis in REDUCTIONS:
            if axis in ((0, 2), (1, 3)):
                continue # it goes over axes side by side
            a = sample(dtype, shape, "few" if len(shape) % 2 else "any")
            yield Case(f"{name}(a{axes_text(axis)})", [a], of(wide(a), axis), "i32")

    return cases


def row(function, kind="any", gives=None, added=False, options=""):
    def cases(name, dtype):
        for shape in ROWS:
            a = sample(dtype, shape, kind)
            wanted = function(wide(a))
            scale = numpy.cumsum(numpy.abs(wide(a)), -1) if added and dtype in FLOATING else None
            if name == "cumprod" and dtype in FLOATING:
                scale = rounded_often(wanted, numpy.arange(1, shape[-1] + 1))
            yield Case(f"{name}(a{options})", [a], wanted, gives or dtype, scale)

    return cases


def best_so_far(x):
    best = numpy.zeros(x.shape, numpy.int64)
    for i in range(1, x.shape[-1]):
        before = numpy.take_along_axis(x, best[..., i - 1 : i], -1)[..., 0]
        best[..., i] = numpy.where(before < x[..., i], i, best[..., i - 1])
    return best


def sorted_both(name, dtype):
    for descending in (False, True):
        def order(x):
            key = x.astype(object) if descending and dtype == "i64" else x
            return numpy.argsort(-key if descending else key, axis=-1, kind="stable").astype(numpy.int64)

        options = ", descending = true" if descending else ""
        for kind in ("few", "any"):
            yield from row(order, kind, "i32", options=options)(name, dtype)


def casts(name, dtype):
    for to in TAKES["any"]:
        for shape in ((), (129,)):
            a = sample(dtype, shape)
            if dtype in FLOATING and to == "u8":
                a = a.abs()
            x = wide(a)
            yield Case(f"{name}(a, {to})", [a], numpy.trunc(x) if to in INTEGER else x != 0 if to == "bool" else x, to)


def shaped(function, table):
    def cases(name, dtype):
        for shape, result in table:
            a = sample(dtype, shape)
            yield Case(f"{name}(a, {list(result)})", [a], function(wide(a), result), dtype)

    return cases


def products(name, dtype):
    for left, right in PRODUCTS:
        a, b = sample(dtype, left), sample(dtype, right)
        yield Case(f"{name}(a, b)", [a, b], wide(a) @ wide(b), dtype, numpy.abs(wide(a)) @ numpy.abs(wide(b)))


def gathers(name, dtype):
    for shape, places in GATHERS:
        for index, axis in (("i32", 0), ("i64", len(shape) - 1)):
            a, b = sample(dtype, shape), torch.tensor(random.integers(0, shape[axis], places), dtype=DTYPES[index])
            yield Case(f"{name}(a, b, axis = {axis})", [a, b], numpy.take(wide(a), wide(b), axis), dtype,
                       facts=("", f" in 0..{shape[axis]}"))


def scatters(name, dtype):
    """Exactly what adding in the order of the indices gives, every sum rounded to the type; halves are added
    as f32 and rounded once."""
    for shape, places in GATHERS:
        a = torch.tensor(random.integers(0, shape[0], places), dtype=torch.int32)
        b = sample(dtype, places + shape[1:])
        wanted = torch.zeros(shape, dtype=torch.float32 if dtype in ("f16", "bf16") else b.dtype)
        for row, update in zip(a.flatten().tolist(), b.reshape((-1,) + shape[1:])):
            wanted[row] += update
        wanted = wanted.to(b.dtype)
        case = Case(f"{name}(a, b, {shape[0]})", [a, b], wide(wanted), dtype, facts=(f" in 0..{shape[0]}", ""))
        case.holds = lambda y, wanted=wanted: numpy.array_equal(y, wide(wanted))
        yield case


def numbers(name, dtype):
    for shape in ((1,), (7,), (3, 5), (40009,)):
        yield Case(f"{name}({list(shape)})", [], numpy.arange(numpy.prod(shape)).reshape(shape), "i32")


def moments(mean, variance):
    """Of many: within five standard errors."""

    def cases(name, dtype):
        count = 200000
        case = Case(f"{name}([{count}])", [], numpy.zeros(count), "f32")
        case.holds = lambda y: (abs(y.mean() - mean) < 5 * (variance / count) ** 0.5 and abs(y.var() / variance - 1) < 0.02
                                and (name != "random_uniform" or (y.min() >= 0 and y.max() < 1)))
        yield case

    return cases


def floor_divide(a, b):
    return numpy.floor_divide(a, b)


erf = numpy.vectorize(__import__("math").erf, otypes=[float])
truths = ("few", "few")
PEERS = {
    "iota": numbers, "random_uniform": moments(0.5, 1 / 12), "random_normal": moments(0, 1),
    "negate": one(numpy.negative), "abs": one(numpy.abs), "exp": one(numpy.exp), "log": one(numpy.log, "positive"),
    "sqrt": one(numpy.sqrt, "positive"), "tanh": one(numpy.tanh), "log1p": one(numpy.log1p, "positive"),
    "expm1": one(numpy.expm1), "rsqrt": one(lambda a: 1 / numpy.sqrt(a), "positive"), "sin": one(numpy.sin),
    "cos": one(numpy.cos), "erf": one(erf), "sign": one(numpy.sign, "few"), "floor": one(numpy.floor, "ties"),
    "ceil": one(numpy.ceil, "ties"), "trunc": one(numpy.trunc, "ties"), "round": one(numpy.rint, "ties"),
    "not": one(numpy.logical_not), "cast": casts, "stop_gradient": one(lambda a: a),
    "add": two(numpy.add), "subtract": two(numpy.subtract), "multiply": two(numpy.multiply),
    "divide": two(numpy.divide, ("any", "nonzero")), "power": two(numpy.power, ("positive", "any")),
    "remainder": two(numpy.mod, ("any", "nonzero")), "quotient": two(floor_divide, ("any", "nonzero")),
    "maximum": two(numpy.maximum), "minimum": two(numpy.minimum),
    "equal": two(numpy.equal, truths, "bool"), "not_equal": two(numpy.not_equal, truths, "bool"),
    "less": two(numpy.less, truths, "bool"), "less_equal": two(numpy.less_equal, truths, "bool"),
    "and": two(numpy.logical_and), "or": two(numpy.logical_or),
    "select": lambda name, dtype: elementwise(name, dtype, numpy.where, TRIPLES, ("bool", "any", "any")),
    "sum": reduce(numpy.sum, added=True), "max": reduce(numpy.max), "min": reduce(numpy.min),
    "prod": reduce(numpy.prod, "near"), "any": reduce(numpy.any), "all": reduce(numpy.all),
    "argmax": place(numpy.argmax), "argmin": place(numpy.argmin),
    "cumsum": row(lambda a: numpy.cumsum(a, -1), added=True), "cumprod": row(lambda a: numpy.cumprod(a, -1), "near"),
    "cumargmax": row(best_so_far, "few", "i32"), "argsort": sorted_both, "matmul": products,
    "reshape": shaped(numpy.reshape, MOVES), "broadcast": shaped(numpy.broadcast_to, SPREADS),
    "gather": gathers, "scatter_add": scatters,
}
# In .flow these are operators.
SPELT = {"negate": "-a", "not": "not a", "and": "a and b", "or": "a or b"}


def callable_ops(path):
    """(name, element types) of what ops.def does not hide."""
    for entry in re.split(r"\nOP\(", path.read_text())[1:]:
        entry = re.sub(r"/\*.*?\*/", "", entry, flags=re.S)
        if ".hidden = true" not in entry:
            takes = re.search(r"TAKES_(\w+)", entry)
            generates = "LOOP_generate" in entry
            yield entry[: entry.index(",")], ["f32"] if generates else TAKES[takes[1]]


def all_cases(path):
    exports, missing = {}, []
    for name, dtypes in callable_ops(path):
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        if name not in PEERS:
            missing.append(name)
            continue
        for dtype in dtypes:
            exports[f"{name}_{dtype}"] = list(PEERS[name](name, dtype))
            for case in exports[f"{name}_{dtype}"]:
                case.call = SPELT.get(name, case.call)
    return exports, missing


def written(name, cases):
    """An export that makes all these calls."""
    parameters, results, values = [], [], []
    for i, case in enumerate(cases):
        facts = case.facts or ("",) * len(case.inputs)
        parameters += [f"{letter}{i}: {type_of(x)}{fact}" for letter, x, fact in zip("abc", case.inputs, facts)]
        results.append(f"y{i}: {type_of(case.wanted)}")
        values.append(f"y{i}: " + re.sub(r"\b([abc])\b", rf"\g<1>{i}", case.call))
    return f"export {name}({', '.join(parameters)}) -> ({', '.join(results)}) {{ return ({', '.join(values)}) }}\n"


def agrees(case, found):
    if hasattr(case, "holds"):
        return case.holds(wide(found))
    if case.element not in UNIT:
        return torch.equal(found, case.wanted)
    exact, y = case.exact.double().numpy(), found.double().numpy()
    computed = UNIT["f64" if case.element == "f64" else "f32"]
    inner = 2 * computed * numpy.abs(exact) if case.scale is None else 64 * computed * case.scale
    bound = 2 * UNIT[case.element] * numpy.abs(exact) + inner + SMALLEST[case.element]
    rounded = case.wanted.double().numpy()
    return bool(numpy.all((y == rounded) | (numpy.abs(y - exact) <= bound) | (numpy.isnan(y) & numpy.isnan(rounded))))


def worst(case, found):
    if case.wanted.dtype == torch.bool:
        at = int((found != case.wanted).flatten().int().argmax())
    else:
        at = int((found.double() - case.wanted.double()).abs().nan_to_num(1e300).flatten().argmax())
    operands = [x.flatten()[at].item() for x in case.inputs if x.shape == found.shape]
    return f"[{at}] is {found.flatten()[at].item()}, not {case.wanted.flatten()[at].item()}, of {operands}"


def main():
    numpy.seterr(all="ignore")
    definitions = Path(__file__).parents[2] / "compiler/ops/ops.def"
    exports, missing = all_cases(definitions)
    failures, count = len(missing), 0
    for name in missing:
        print(f"{name}: has no peer in ops.py  FAILED")
    with tempfile.TemporaryDirectory() as folder:
        text = "".join(written(name, cases) for name, cases in exports.items())
        library = Library(str(Path(sys.argv[1]).resolve()), folder, text)
        for name, cases in exports.items():
            inputs = [x for case in cases for x in case.inputs]
            found = library.call(name, inputs, [case.wanted for case in cases])
            bad = [(case, y) for case, y in zip(cases, found) if not agrees(case, y)]
            count += len(cases)
            failures += len(bad)
            for case, y in bad:
                print(f"{name}: {case.call} of {[type_of(x) for x in case.inputs]}: {worst(case, y)}  FAILED")
    print(f"{count - failures} of {count} agree, {len(exports)} ops by element type")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
