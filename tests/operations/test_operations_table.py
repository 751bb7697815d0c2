"""The table of operations: complete, without clashes, and derived from what `Memory` takes."""

import inspect
import re

import msgspec
import pytest

from remloom import Edge, Entity, Memory
from remloom.dream.service import Dreams
from remloom.jobs.service import Jobs
from remloom.memory.admin import Admin
from remloom.operations import METHODS, OPERATIONS
from remloom.profile.service import Profiles
from remloom.runs.service import Runs
from remloom.schema.service import Schemas

NOUNS = {
    "": Memory,
    "runs": Runs,
    "jobs": Jobs,
    "dreams": Dreams,
    "profile": Profiles,
    "schemas": Schemas,
    "admin": Admin,
}
# methods that have no operation derived from them, and why
ELSEWHERE = {
    "open": "a server opens memories itself",
    "close": "a server closes memories itself",
    "read": "files are sent: read_documents; below `serve_read_roots` read_path",
    "reader": "reader_*",
    "get_moments_by_time": "listed by pages",
    "get_moments_by_type": "listed by pages",
    "query_resources": "a condition is text outside: query_records",
    "query_entities": "a condition is text outside: query_records",
    "query_moments": "a condition is text outside: query_records",
    "jobs.add": "paths of the server are checked: add_job",
    "jobs.retry": "retry_job asks for the scopes of the kind of job",
    "jobs.work": "workers run beside the server",
    "admin.records": "listed by pages: list_records",
    "admin.export": "streamed",
    "admin.import_": "streamed",
    "admin.backup": "streamed",
    "profile.import_": "uploaded",
    "schemas.discover": "a server opens no database that a caller names",
    "schemas.rediscover": "it takes long: a job of the kind discover",
    "schemas.register_from_discovery": "a server opens no database that a caller names",
    "schemas.sources": "without what a plan tells of the database: list_sources",
    "schemas.sync": "by its name only: sync_source",
    "schemas.drift": "by its name only: source_drift",
    "schemas.query_rows": "a condition is text outside: query_records",
}


def test_every_method_has_an_operation_or_a_reason():
    offered = {one.method for one in METHODS}
    for noun, kind in NOUNS.items():
        for name, function in vars(kind).items():
            if name.startswith("_") or not inspect.isfunction(function):
                continue
            method = f"{noun}.{name}" if noun else name
            assert (method in offered) != (method in ELSEWHERE), method


def test_names_and_routes_are_unique():
    names = [one.name for one in OPERATIONS]
    assert len(names) == len(set(names))
    routes = [(one.route.method, re.sub(r"\{\w+\}", "{}", one.route.path)) for one in OPERATIONS]
    assert len(routes) == len(set(routes))


def test_every_parameter_of_a_path_is_an_argument():
    for one in OPERATIONS:
        for name in re.findall(r"\{(\w+)\}", one.route.path):
            assert name in one.takes.__struct_fields__, one.name


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_values_have_a_schema(operation):
    types = [operation.takes, *([operation.gives] if operation.gives is not None else [])]
    msgspec.json.schema_components(types, ref_template="#/{name}")
    assert operation.description.endswith(".")


def operation(name):
    return next(one for one in OPERATIONS if one.name == name)


def test_what_is_returned_goes_over_the_wire_and_back(tmp_path):
    with Memory.open(tmp_path, embedder="none") as memory:
        one = operation("write")
        values = msgspec.convert(
            {
                "records": [
                    {"schema": "entities", "name": "Sarah Chen", "type": "person"},
                    {"schema": "edges", "src": "Sarah Chen", "rel_type": "manages", "dst": "Bob"},
                ]
            },
            one.takes,
        )
        assert len(one.does(memory, values, None).ids) == 1
        one = operation("lookup")
        answer = one.does(memory, msgspec.convert({"labels": ["sarah chen"]}, one.takes), None)
        assert msgspec.json.decode(msgspec.json.encode(answer), type=one.gives) == answer
        one = operation("recall")
        given = msgspec.convert(
            {"question": "Who is Sarah Chen?", "where": "category = 'x'"}, one.takes
        )
        assert one.does(memory, given, None).question == "Who is Sarah Chen?"


def test_what_is_no_argument_is_refused():
    for values in ({"labels": []}, {"labels": ["a\0"]}, {"labels": ["a"], "tenant": "other"}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(values, operation("lookup").takes)


def test_paths_callables_and_models_of_the_server_cannot_be_given():
    for one in OPERATIONS:
        if one.name == "read_path":
            continue
        assert not {"source", "path", "embedder", "count_tokens", "progress"} & set(
            one.takes.__struct_fields__
        ), one.name
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"question": "x", "rerank": "onnx:/etc"}, operation("recall").takes)


def test_edges_and_records_tell_themselves_apart():
    encoded = msgspec.json.encode([Entity(name="a"), Edge(src="a", rel_type="b", dst="c")])
    assert [one["schema"] for one in msgspec.json.decode(encoded)] == ["entities", "edges"]
