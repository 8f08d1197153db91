"""The calculator on later visits: from the browser's own store, without a network, never stale."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from generator.core import api
from generator.core.catalog import Catalog
from generator.load import load_catalog
from tests.browser.support import RunNode, slowdown
from tools.serve import SiteServer, page_policy

SCRIPT = "offline.mjs"
FIRST = {"model": "llama-3.1-8b", "method": "lora"}
SECOND = {"model": "llama-3.1-8b", "method": "qlora", "sequence_length": 4096}
LATER_VISIT_LIMIT_MS = 1200
ATTEMPTS = 3


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def link_of(request: dict[str, Any]) -> str:
    return "&".join(["v=1", *(f"{key}={value}" for key, value in request.items())])


def total(catalog: Catalog, request: dict[str, Any]) -> int:
    answer = json.loads(api.run(json.dumps(request), catalog))
    total_bytes: int = answer["per_gpu"]["total"]
    return total_bytes


@pytest.fixture
def site_copy(built_site: Path, tmp_path: Path) -> Path:
    """The parts of the site that the calculator uses, free to be changed."""
    copy = tmp_path / "site"
    for part in ("calculator", "assets"):
        shutil.copytree(built_site / part, copy / part)
    shutil.copy(built_site / "index.html", copy)
    return copy


def serve(folder: Path, port: int = 0) -> SiteServer:
    policy = page_policy(folder)
    return SiteServer(folder, port=port, base="/trainfit/", content_security_policy=policy)


def files_in(caches: dict[str, list[str]]) -> set[str]:
    return {url.rsplit("/", 1)[-1] for urls in caches.values() for url in urls}


def visit(browse: RunNode, profile: Path, url: str, link: str, **others: Any) -> dict[str, Any]:
    """What came of one visit by a browser that is started for it."""
    visits = [{"link": link, **others}]
    [result] = browse(SCRIPT, profile=str(profile), url=url, visits=visits)
    found: dict[str, Any] = result
    return found


@dataclass(frozen=True)
class Visited:
    """A profile after one visit, where that was, and what came of it."""

    profile: Path
    port: int
    url: str
    result: dict[str, Any]


@pytest.fixture(scope="module")
def visited(browse: RunNode, built_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Visited:
    profile = tmp_path_factory.mktemp("visited") / "profile"
    with serve(built_site) as server:
        result = visit(browse, profile, server.url, link_of(FIRST), isSettling=True)
        return Visited(profile, server.server_address[1], server.url, result)


@pytest.mark.in_firefox
def test_after_one_visit_it_answers_without_a_network(
    browse: RunNode, visited: Visited, catalog: Catalog
) -> None:
    second, compact = browse(
        SCRIPT,
        profile=str(visited.profile),
        url=visited.url,
        visits=[{"link": link_of(SECOND)}, {"link": link_of(FIRST), "query": "?view=compact"}],
    )

    assert visited.result["totalBytes"] == compact["totalBytes"] == total(catalog, FIRST)
    assert second["totalBytes"] == total(catalog, SECOND)
    assert visited.result["errors"] == []


@pytest.mark.only_chromium
def test_without_a_network_it_needs_nothing_of_the_browser_s_own_cache(
    browse: RunNode, visited: Visited, catalog: Catalog
) -> None:
    [second] = browse(
        SCRIPT,
        profile=str(visited.profile),
        url=visited.url,
        visits=[{"link": link_of(SECOND), "isForgetful": True}],
    )

    assert second["totalBytes"] == total(catalog, SECOND)


def test_a_later_visit_takes_the_new_release_and_leaves_nothing_of_the_old(
    browse: RunNode, site_copy: Path, catalog: Catalog, tmp_path: Path
) -> None:
    profile = tmp_path / "profile"
    with serve(site_copy) as server:
        port = server.server_address[1]
        first = visit(browse, profile, server.url, link_of(FIRST), isSettling=True)
    manifest_path = site_copy / "assets" / "core" / "manifest.json"
    manifest = json.loads(manifest_path.read_text(encoding="utf-8"))
    old_name, new_name = manifest["core"]["file"], "core-0123456789abcdef.zip"
    (manifest_path.parent / old_name).rename(manifest_path.parent / new_name)
    manifest["core"]["file"] = new_name
    manifest_path.write_text(json.dumps(manifest), encoding="utf-8")

    with serve(site_copy, port=port) as server:
        second = visit(browse, profile, server.url, link_of(SECOND), isSettling=True)

    assert (first["python"], second["python"]) == ("started", "started")
    assert old_name in files_in(first["caches"])
    assert new_name in files_in(second["caches"])
    assert old_name not in files_in(second["caches"])
    assert not any(old_name in url for urls in second["caches"].values() for url in urls)
    assert second["totalBytes"] == total(catalog, SECOND)


@pytest.mark.alone
def test_a_later_visit_loads_no_python_again_and_is_quick(
    browse: RunNode, built_site: Path, visited: Visited, catalog: Catalog
) -> None:
    visits: list[dict[str, Any]] = []
    limit = LATER_VISIT_LIMIT_MS * slowdown()
    with serve(built_site, port=visited.port) as server:
        while len(visits) < ATTEMPTS and not any(each["answeredMs"] <= limit for each in visits):
            visits.append(visit(browse, visited.profile, server.url, link_of(SECOND), isTimed=True))
        requested = [path.rsplit("/", 1)[-1] for path in server.requested_paths]

    assert {each["python"] for each in visits} == {"restored"}
    assert {each["totalBytes"] for each in visits} == {total(catalog, SECOND)}
    assert "manifest.json" in requested
    assert [name for name in requested if name.endswith((".wasm", ".zip"))] == []
    assert min(each["answeredMs"] for each in visits) <= limit, (limit, visits)


def test_a_damaged_memory_is_thrown_away(
    browse: RunNode, built_site: Path, catalog: Catalog, tmp_path: Path
) -> None:
    profile = tmp_path / "profile"
    with serve(built_site) as server:
        visit(browse, profile, server.url, link_of(FIRST), isSettling=True, isDamaging=True)
        second = visit(browse, profile, server.url, link_of(SECOND), isSettling=True)
        third = visit(browse, profile, server.url, link_of(FIRST))

    assert second["totalBytes"] == total(catalog, SECOND)
    assert (second["python"], third["python"]) == ("started", "restored")
