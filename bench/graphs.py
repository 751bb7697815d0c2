"""Writes the graphs that the bundled models are run by: `src/remloom/embed/bundled/graphs/*.onnx`.

    python -m bench.graphs

A graph has no weights: it says at which byte of the carrier's `model.onnx` each of them lies. The
files of the carriers were exported for any runtime, and each of their graphs computes the same in
many more steps. Here activations become bytes before each product (so products are of integers),
attention is one step, and there is neither padding nor a mask, as texts of one length are run
together. Needs `onnx`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from remloom.embed.bundled.colbert import ColbertSmall
from remloom.embed.bundled.sentence_embedder import BgeSmall, MiniLM
from remloom.embed.bundled.transformer import ModelFiles

FOLDER = Path(__file__).resolve().parents[1] / "src" / "remloom" / "embed" / "bundled" / "graphs"
HEADS = 12
WIDTH = 384
EPSILON = 1e-12  # of BERT's layer norm
MICROSOFT = "com.microsoft"
BY_TOKEN = {"minilm"}  # whose activations are scaled token by token: 20 % slower, much truer
INLINE = 64  # bytes of a weight from which it stays in the carrier's file


@dataclass(frozen=True)
class Product:
    """The weights of a matrix product: names in the carrier's file."""

    weights: str
    scale: str


class Carrier:
    """A model's file as it was exported: its weights, and where they lie."""

    def __init__(self, path: Path) -> None:
        self.bytes = path.read_bytes()
        self.graph = onnx.load_from_string(self.bytes).graph
        self.weights = {one.name: one for one in self.graph.initializer}
        named = next(name for name in self.weights if name.endswith("embeddings.LayerNorm.weight"))
        self.prefix = named.removesuffix("embeddings.LayerNorm.weight")
        self.products = self._integer_products() or self._weight_products()

    def _integer_products(self) -> list[Product]:
        """Of a file whose products are of integers, in the order they are computed in."""
        names = [
            node.input[1]
            for node in self.graph.node
            if node.op_type == "MatMulInteger" and "pooler" not in node.name
        ]
        for name in names:
            zeros = onnx.numpy_helper.to_array(
                self.weights[name.replace("_quantized", "_zero_point")]
            )
            assert not zeros.any(), f"{name} is not symmetric"
        return [Product(name, name.replace("_quantized", "_scale")) for name in names]

    def _weight_products(self) -> list[Product]:
        """Of a file whose weights are integers, multiplied out before they are used."""
        names = [node.input[1] for node in self.graph.node if node.op_type == "MatMul"]
        return [
            Product(f"{name}_q", f"{name}_scale") for name in names if f"{name}_q" in self.weights
        ]

    def table(self, name: str) -> tuple[str, ...]:
        """The weights of a table of embeddings: integers, scale, zero point; or plain numbers."""
        stem = f"{self.prefix}embeddings.{name}.weight"
        for endings in (("_quantized", "_scale", "_zero_point"), ("_q", "_scale"), ("",)):
            if stem + endings[0] in self.weights:
                return tuple(stem + ending for ending in endings)
        raise KeyError(stem)


@dataclass
class Graph:
    """A graph as it is written, step by step."""

    carrier: Carrier
    by_token: bool
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: dict[str, TensorProto] = field(default_factory=dict)

    def step(
        self, kind: str, given: Sequence[str], out: str, *, domain: str = "", **options: object
    ) -> str:
        self.nodes.append(helper.make_node(kind, given, [out], domain=domain, **options))
        return out

    def weight(self, name: str, *, flat: bool = False) -> str:
        """A weight of the carrier; `flat` with one dimension."""
        found = self.carrier.weights[name]
        shape = [int(np.prod(found.dims))] if flat and len(found.dims) > 1 else list(found.dims)
        raw = found.raw_data or onnx.numpy_helper.to_array(found).tobytes()
        there = TensorProto(name=name, data_type=found.data_type, dims=shape)
        offset = self.carrier.bytes.find(raw)
        if len(raw) < INLINE or offset < 0:
            there.raw_data = raw
        else:
            there.data_location = TensorProto.EXTERNAL
            for key, value in (
                ("location", "model.onnx"),
                ("offset", offset),
                ("length", len(raw)),
            ):
                there.external_data.add(key=key, value=str(value))
        self.weights[name] = there
        return name

    def constant(self, name: str, value: object) -> str:
        self.weights[name] = onnx.numpy_helper.from_array(np.array(value, np.int64), name)
        return name

    def embedding(self, table: str, index: str) -> str:
        """The rows of a table of embeddings."""
        names = self.carrier.table(table)
        rows = self.step("Gather", [self.weight(names[0]), index], f"{table}.rows")
        match names:
            case (_, scale, zero):
                given = [rows, self.weight(scale), self.weight(zero)]
                return self.step("DequantizeLinear", given, table)
            case (_, scale):
                scales = self.step("Gather", [self.weight(scale), index], f"{table}.scales")
                whole = self.step("Cast", [rows], f"{table}.float", to=TensorProto.FLOAT)
                return self.step("Mul", [whole, scales], table)
        return rows

    def norm(self, given: str, name: str, out: str) -> str:
        both = [self.weight(f"{self.carrier.prefix}{name}.{part}") for part in ("weight", "bias")]
        return self.step("LayerNormalization", [given, *both], out, axis=-1, epsilon=EPSILON)

    def as_bytes(self, given: str) -> tuple[str, ...]:
        """Activations as bytes, with their scale and zero point; by token, with its largest too.

        One scale for all tokens loses much where a few numbers are far larger than the others.
        """
        largest: list[str] = []
        if self.by_token:
            axes = self.constant("last", [-1])
            sizes = self.step("Abs", [given], f"{given}.sizes")
            largest = [self.step("ReduceMax", [sizes, axes], f"{given}.largest", keepdims=1)]
            given = self.step("Div", [given, *largest], f"{given}.even")
        names = (f"{given}.bytes", f"{given}.scale", f"{given}.zero")
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [given], names))
        return (*names, *largest)

    def product(self, given: tuple[str, ...], product: Product, bias: str, out: str) -> str:
        numbers, scale, zero, *largest = given
        weights = self.weight(product.weights)
        scales = self.weight(product.scale, flat=True)
        inputs = [numbers, weights, scale, scales, zero, ""]
        if not largest:
            inputs.append(self.weight(bias))
            return self.step("MatMulIntegerToFloat", inputs, out, domain=MICROSOFT)
        even = self.step("MatMulIntegerToFloat", inputs, f"{out}.even", domain=MICROSOFT)
        scaled = self.step("Mul", [even, *largest], f"{out}.scaled")
        return self.step("Add", [scaled, self.weight(bias)], out)

    def layer(self, number: int, given: str, out: str) -> str:
        """A layer of BERT: attention, then two products, each added to what came in."""
        name = f"encoder.layer.{number}"
        stem = f"{self.carrier.prefix}{name}"
        query, key, value, after, wide, narrow = self.carrier.products[6 * number : 6 * number + 6]
        asked = self.as_bytes(given)
        heads = [
            self.product(asked, product, f"{stem}.attention.self.{part}.bias", f"{name}.{part}")
            for product, part in ((query, "query"), (key, "key"), (value, "value"))
        ]
        attended = self.step(
            "MultiHeadAttention", heads, f"{name}.attended", domain=MICROSOFT, num_heads=HEADS
        )
        attended = self.product(
            self.as_bytes(attended), after, f"{stem}.attention.output.dense.bias", f"{name}.after"
        )
        added = self.step("Add", [attended, given], f"{name}.added")
        seen = self.norm(added, f"{name}.attention.output.LayerNorm", f"{name}.seen")
        widened = self.product(
            self.as_bytes(seen), wide, f"{stem}.intermediate.dense.bias", f"{name}.wide"
        )
        bent = self.step("Gelu", [widened], f"{name}.bent", domain=MICROSOFT)
        narrowed = self.product(
            self.as_bytes(bent), narrow, f"{stem}.output.dense.bias", f"{name}.narrow"
        )
        # not SkipLayerNormalization: on a CPU that one is ten times slower than the two
        summed = self.step("Add", [narrowed, seen], f"{name}.summed")
        return self.norm(summed, f"{name}.output.LayerNorm", out)


def write(carrier: Carrier, path: Path, *, by_token: bool) -> None:
    """Write the graph of a BERT model."""
    graph = Graph(carrier, by_token)
    zero, one = graph.constant("zero", 0), graph.constant("one", 1)
    shape = graph.step("Shape", ["input_ids"], "shape", start=1, end=2)
    count = graph.step("Squeeze", [shape], "count")
    places = graph.step("Range", [zero, count, one], "places")
    words = graph.embedding("word_embeddings", "input_ids")
    beside = [
        graph.embedding("position_embeddings", places),
        graph.embedding("token_type_embeddings", zero),
    ]
    summed = graph.step("Add", [words, graph.step("Add", beside, "beside")], "embedded")
    states = graph.norm(summed, "embeddings.LayerNorm", "states.0")
    layers = len(carrier.products) // 6
    for number in range(layers):
        out = "states" if number + 1 == layers else f"states.{number + 1}"
        states = graph.layer(number, states, out)
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            path.stem,
            [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "tokens"])],
            [helper.make_tensor_value_info(states, TensorProto.FLOAT, ["texts", "tokens", WIDTH])],
            list(graph.weights.values()),
        ),
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)],
        ir_version=8,
    )
    path.write_bytes(model.SerializeToString())
    print(f"{path.name}: {layers} layers, {path.stat().st_size:,} bytes")


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.parse_args()
    carriers: dict[str, ModelFiles] = {
        "minilm": MiniLM.files,
        "bge": BgeSmall.files,
        "colbert": ColbertSmall.files,
    }
    FOLDER.mkdir(exist_ok=True)
    for name, files in carriers.items():
        write(
            Carrier(files.find()["model.onnx"]), FOLDER / f"{name}.onnx", by_token=name in BY_TOKEN
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
