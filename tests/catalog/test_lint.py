"""Each rule passes the sound catalog and finds its own kind of damage."""

import datetime
from pathlib import Path

import pytest

from generator.lint import check
from generator.load import CATALOG_DIR
from generator.problem import PROBLEM_CODES, Problem
from tests.catalog.small import damage

TODAY = datetime.date(2026, 11, 30)
CARD = "cards/test-card-24gb.toml"
MODEL = "models/test-1b.toml"
OPTIMIZER = "optimizers/test-adam.toml"
METHOD = "methods/test-lora.toml"
STACK = "stacks/test-stack.toml"


def findings(root: Path, today: datetime.date = TODAY) -> list[str]:
    return [str(problem) for problem in check(root, today=today)]


def test_a_sound_catalog_has_no_findings(root: Path) -> None:
    assert findings(root) == []


def test_a_file_that_nothing_reads_is_told(root: Path) -> None:
    (root / "models" / "notes.txt").write_text("to do", encoding="utf-8")
    (root / "models" / ".hidden").write_text("of an editor", encoding="utf-8")
    told = "nothing reads it; a record is a file that ends in .toml [bad-id]"
    assert findings(root) == [f"catalog/models/notes.txt: {told}"]


def test_the_whole_catalog_has_no_failures() -> None:
    # On this very day: a draft has the date of its making.
    today = datetime.datetime.now(tz=datetime.UTC).date()
    failures = [problem for problem in check(CATALOG_DIR, today=today) if problem.is_failure]
    assert failures == []


CASES = [
    pytest.param(
        MODEL,
        'released = "2026-01"',
        'released = "2036-08"',
        "released: in the future; write the half year of what is only announced (expected"
        ' "2026-11" or earlier, got "2036-08") [future-date]',
        id="month-to-come",
    ),
    pytest.param(
        MODEL,
        'released = "2026-01"',
        'released = "2026-13"',
        'released: not a month (expected "2024-03", or "2024-H1" for a half year, got "2026-13")'
        " [wrong-type]",
        id="no-month",
    ),
    pytest.param(
        CARD,
        "flops_per_second = 100_000_000_000_000",
        "flops_per_second = 3_000_000_000_000_000",
        "facts.peak_dense_bf16_flops_per_second: not credible beside the memory bandwidth; check"
        " the units, and dense against sparse (expected 40 to 800 operations per byte, got 3,000)"
        " [implausible-value]",
        id="rate-that-no-memory-feeds",
    ),
    pytest.param(
        CARD,
        "flops_per_second = 100_000_000_000_000",
        "flops_per_second = 100_000_000_000_000\n"
        "peak_dense_fp8_flops_per_second = 400_000_000_000_000",
        "facts.peak_dense_fp8_flops_per_second: not credible beside the BF16 rate; check that both"
        " are dense (expected 1 to 2 times the BF16 rate, got 4.0) [implausible-value]",
        id="sparse-rate-beside-a-dense-one",
    ),
    pytest.param(
        CARD,
        "[facts]\n",
        "[facts]\ntdp_watts = 600\n",
        "facts.tdp_watts: unknown key [unknown-field]",
        id="unknown-fact-of-which-no-citation-is-wanted",
    ),
    pytest.param(
        MODEL,
        '"expected.num_parameters" = "config"',
        'expected.num_parameters = "config"',
        "cite.expected.num_parameters: the key needs quotes, or TOML makes a table of it; write"
        ' "expected.num_parameters" = ... [wrong-type]',
        id="citation-without-quotes",
    ),
    pytest.param(
        CARD,
        "link_bytes_per_second = 32_000_000_000",
        "link_bytes_per_second = 0",
        "facts.link_bytes_per_second: still the 0 of the draft; look it up, or delete the line and"
        " the one in [cite] (expected 1_000_000_000 to 10_000_000_000_000, got 0)"
        " [implausible-value]",
        id="zero-of-the-draft",
    ),
    pytest.param(
        CARD,
        "memory_usable_bytes = 25_000_000_000",
        "memory_usable_bytes = 0",
        "facts.memory_usable_bytes: still the 0 of the draft; look it up, or delete the line and"
        " the one in [cite] (expected 40% to 110% of the marketed size, got 0%)"
        " [implausible-value]",
        id="zero-size-of-the-draft",
    ),
    pytest.param(
        MODEL,
        "vocab_size = 32_000",
        "vocab_size = 32_000\nn_experts = 8",
        "config.n_experts: nothing reads it for model_type llama; delete the line, or open an issue"
        " with the config if it changes the size of a tensor [unknown-field]",
        id="field-of-a-config-that-nothing-reads",
    ),
    pytest.param(
        CARD,
        'id = "test-card-24gb"',
        'id = "test-card-2-24gb"',
        'id: the file must be called like its id (expected "test-card-24gb",'
        ' got "test-card-2-24gb") [bad-id]',
        id="file-name",
    ),
    pytest.param(
        MODEL,
        'id = "test-1b"',
        'id = "Test--1b"',
        "id: not a valid id (expected parts of a-z and 0-9 joined by single - or .,"
        ' got "Test--1b") [bad-id]',
        id="id-pattern",
    ),
    pytest.param(
        MODEL,
        'aliases = ["test"]',
        'aliases = ["te st"]',
        "aliases[0]: not a valid id (expected parts of a-z and 0-9 joined by single -, . or _,"
        ' got "te st") [bad-id]',
        id="alias-pattern",
    ),
    pytest.param(
        CARD,
        "memory_marketed_gb = 24",
        "memory_marketed_gb = 25",
        'id: not a valid id (expected an id that ends with the size, "-25gb",'
        ' got "test-card-24gb") [bad-id]',
        id="size-in-the-id",
    ),
    pytest.param(
        MODEL,
        'license = "apache-2.0"',
        'license = "FILL"',
        "license: still to be filled in [missing-field]",
        id="draft",
    ),
    pytest.param(
        MODEL,
        'license = "apache-2.0"',
        'license = " "',
        "license: empty; fill it in [missing-field]",
        id="empty-text",
    ),
    pytest.param(
        MODEL,
        'aliases = ["test"]',
        'aliases = ["test", "test-1b"]',
        'aliases[1]: "test-1b" is taken by catalog/models/test-1b.toml; choose another name'
        " [duplicate-id]",
        id="alias-is-its-own-id",
    ),
    pytest.param(
        CARD,
        'price_date = "sheet"\n',
        "",
        "cite.price_date: the fact has no citation; name its source in [cite] [uncited-fact]",
        id="uncited-fact",
    ),
    pytest.param(
        MODEL,
        'config = "config"\n',
        "",
        "cite.config: the fact has no citation; name its source in [cite] [uncited-fact]",
        id="uncited-config",
    ),
    pytest.param(
        MODEL,
        '"expected.num_parameters" = "config"\n',
        "",
        "cite.expected.num_parameters: the fact has no citation; name its source in [cite]"
        " [uncited-fact]",
        id="uncited-total",
    ),
    pytest.param(
        OPTIMIZER,
        'states = "code"\n',
        "",
        "cite.states: the fact has no citation; name its source in [cite] [uncited-fact]",
        id="uncited-states",
    ),
    pytest.param(
        STACK,
        "context_bytes = 500_000_000",
        'context_bytes = 500_000_000\nolder_stack = "test-stak"',
        'facts.older_stack: there is no stack "test-stak"; did you mean "test-stack"?',
        id="no-such-older-stack",
    ),
    pytest.param(
        STACK,
        'context_bytes = "code"',
        'contxt_bytes = "code"',
        'cite.contxt_bytes: there is no such fact; did you mean "context_bytes"? [unknown-field]',
        id="citation-without-a-fact",
    ),
    pytest.param(
        MODEL,
        'config = "config"\n',
        'config = "config"\n"config.depth" = "config"\n',
        'cite.config.depth: there is no such fact; did you mean "config"? [unknown-field]',
        id="citation-of-a-missing-config-field",
    ),
    pytest.param(
        CARD,
        'price_date = "sheet"',
        'price_date = "shet"',
        'cite.price_date: there is no [sources.shet]; did you mean "sheet"? [unknown-source]',
        id="unknown-source",
    ),
    pytest.param(
        CARD,
        'source = "sheet", note = "One',
        'note = "One',
        "cite.link_bytes_per_second: the citation names no source; add `source` [unknown-source]",
        id="citation-without-a-source",
    ),
    pytest.param(
        METHOD,
        "[cite]",
        '[sources.other]\ntitle = "T"\nproducer = "P"\nurl = "https://example.org"\n'
        'published = "unknown"\naccessed = 2026-11-30\nkind = "paper"\n\n[cite]',
        "sources.other: nothing cites this source; cite it or delete it [unused-source]",
        id="unused-source",
    ),
    pytest.param(
        METHOD,
        'producer = "Test"\n',
        "",
        "sources.paper.producer: missing; add it [incomplete-source]",
        id="source-without-producer",
    ),
    pytest.param(
        METHOD,
        'published = "2026"\n',
        "",
        'sources.paper.published: missing; add it, or "unknown" where no date is printed'
        " [incomplete-source]",
        id="source-without-publication-date",
    ),
    pytest.param(
        METHOD,
        "accessed = 2026-11-30\n",
        "",
        "sources.paper.accessed: missing; add it [incomplete-source]",
        id="source-without-access-date",
    ),
    pytest.param(
        METHOD,
        "accessed = 2026-11-30",
        'accessed = "2026-11-30"',
        'sources.paper.accessed: not a date (expected 2026-11-30, got "2026-11-30") [wrong-type]',
        id="access-date-as-text",
    ),
    pytest.param(
        METHOD,
        "accessed = 2026-11-30",
        "accessed = 2026-12-01",
        "sources.paper.accessed: nobody has read it yet (expected 2026-11-30 or earlier,"
        " got 2026-12-01) [future-date]",
        id="access-date-in-the-future",
    ),
    pytest.param(
        METHOD,
        'published = "2026"',
        'published = "2026-12"',
        "sources.paper.published: published after it was read (expected 2026-11-30 or earlier,"
        " got 2026-12) [future-date]",
        id="published-after-it-was-read",
    ),
    pytest.param(
        METHOD,
        'published = "2026"',
        'published = "2026-13"',
        'sources.paper.published: not a date (expected a date, a month "2026-11", a year or'
        ' "unknown", got "2026-13") [wrong-type]',
        id="publication-date-that-is-none",
    ),
    pytest.param(
        METHOD,
        'kind = "paper"',
        'kind = "blog"',
        "sources.paper.kind: unknown kind; vendor is who made the thing, in a data sheet or a model"
        ' card (expected one of "vendor", "paper", "config-file", "code", "measurement",'
        ' "third-party", got "blog") [out-of-range]',
        id="unknown-source-kind",
    ),
    pytest.param(
        METHOD,
        'url = "https://example.org/paper"',
        'url = "example.org/paper"',
        'sources.paper.url: not an address (expected https://..., got "example.org/paper")'
        " [wrong-type]",
        id="address-without-a-scheme",
    ),
    pytest.param(
        METHOD,
        'kind = "paper"',
        'kind = "paper"\nautor = "x"',
        "sources.paper.autor: unknown key [unknown-field]",
        id="unknown-key-in-a-source",
    ),
    pytest.param(
        METHOD,
        '[sources.paper]\ntitle = "Paper"',
        '[sources]\npaper = "x"\n[other]\ntitle = "Paper"',
        "sources.paper: wrong value (expected a table, got x) [wrong-type]",
        id="source-that-is-no-table",
    ),
    pytest.param(
        CARD,
        '{ source = "sheet", note = "23.28 GiB, times 2^30." }',
        '"sheet"',
        "cite.memory_usable_bytes: the citation needs a note: say which GiB reading it is"
        " [missing-note]",
        id="conversion-without-a-note",
    ),
    pytest.param(
        CARD,
        'note = "Dense, as printed."',
        'note = " "',
        "cite.peak_dense_bf16_flops_per_second: the citation needs a note: say whether the source"
        " prints it dense or with sparsity [missing-note]",
        id="rate-with-an-empty-note",
    ),
    pytest.param(
        CARD,
        "memory_usable",
        "allowed_gpu_counts = [1, 2, 4, 8]\nmemory_usable",
        'facts.allowed_gpu_counts: form "pcie" says so already; leave it out [derived-value]',
        id="counts-that-the-form-says",
    ),
    pytest.param(
        MODEL,
        "vocab_size = 32_000",
        "vocab_size = 32_000\nnum_parameters = 1_000",
        "config.num_parameters: a total is counted, never given; move it to [expected]"
        " [derived-value]",
        id="total-in-a-config",
    ),
    pytest.param(
        CARD,
        "memory_bandwidth_bytes_per_second = 1_000_000_000_000",
        "memory_bandwidth_bytes_per_second = 1_000",
        "facts.memory_bandwidth_bytes_per_second: not credible; check the unit"
        " (expected 50_000_000_000 to 100_000_000_000_000, got 1_000) [implausible-value]",
        id="bandwidth-in-the-wrong-unit",
    ),
    pytest.param(
        CARD,
        "memory_usable_bytes = 25_000_000_000",
        "memory_usable_bytes = 27_000_000_000",
        "facts.memory_usable_bytes: not credible; check GB against GiB"
        " (expected 40% to 110% of the marketed size, got 112%) [implausible-value]",
        id="more-usable-than-there-is",
    ),
    pytest.param(
        CARD,
        "price_usd_per_hour_high = 2.5",
        "price_usd_per_hour_high = 0.5",
        "facts.price_usd_per_hour_high: the highest price is below the lowest; swap them"
        " (got 0.5) [implausible-value]",
        id="prices-the-wrong-way-round",
    ),
    pytest.param(
        CARD,
        'price_date = "2026-08"\n',
        "",
        "facts.price_date: a price needs the month of its quote (expected a month)"
        " [implausible-value]",
        id="price-without-a-date",
    ),
    pytest.param(
        CARD,
        "price_usd_per_hour = 1\n",
        "supports_bf16 = false\nprice_usd_per_hour = 1\n",
        "facts.supports_bf16: a BF16 rate on a card without BF16; one of the two is wrong"
        " [implausible-value]",
        id="rate-without-support",
    ),
    pytest.param(
        CARD,
        "memory_usable",
        "allowed_gpu_counts = [2, 1]\nmemory_usable",
        "facts.allowed_gpu_counts: counts must be positive, rising and different (got [2, 1])"
        " [implausible-value]",
        id="falling-counts",
    ),
    pytest.param(
        METHOD,
        'quantized_dtype = "nf4"',
        'quantized_dtype = "nf5"',
        'quantized_dtype: the core has no dtype "nf5"; did you mean "nf4"? [bad-reference]',
        id="unknown-dtype",
    ),
    pytest.param(
        OPTIMIZER,
        'dtype = "bf16"',
        'shape = "low-rank"',
        "rank: low-rank states need a rank; add it [bad-reference]",
        id="low-rank-without-a-rank",
    ),
    pytest.param(
        MODEL,
        'model_type = "llama"',
        'model_type = "lama"',
        "config.model_type: ",
        id="config-that-the-core-refuses",
    ),
    pytest.param(
        CARD,
        'name = "Test Card 24 GB"\nvendor = "Test"',
        'vendor = "Test"\nname = "Test Card 24 GB"',
        "name: out of order; move it above `vendor` [key-order]",
        id="order-at-the-top",
    ),
    pytest.param(
        CARD,
        "memory_marketed_gb = 24\nmemory_usable_bytes = 25_000_000_000",
        "memory_usable_bytes = 25_000_000_000\nmemory_marketed_gb = 24",
        "facts.memory_marketed_gb: out of order; move it above `memory_usable_bytes` [key-order]",
        id="order-of-facts",
    ),
    pytest.param(
        METHOD,
        'title = "Paper"\nproducer = "Test"',
        'producer = "Test"\ntitle = "Paper"',
        "sources.paper.title: out of order; move it above `producer` [key-order]",
        id="order-in-a-source",
    ),
    pytest.param(
        OPTIMIZER,
        'dtype = "bf16"',
        'dtype = "bf16"\n\n[[states]]\nname = "exp_avg"\nonly = "rest"',
        'states[2].name: "exp_avg" is here twice and would count twice; delete one, or write which'
        " parameters have it (only) [duplicate-id]",
        id="one-state-twice",
    ),
    pytest.param(
        OPTIMIZER,
        'paged = "code"\nstates = "code"',
        'states = "code"\npaged = "code"',
        "cite.paged: out of order; move it above `states` [key-order]",
        id="order-of-citations",
    ),
    pytest.param(
        "matrix.toml",
        '["test-adam"]',
        '["test-adan"]',
        'optimizers[0]: there is no optimizer "test-adan"; did you mean "test-adam"?'
        " [bad-reference]",
        id="matrix-names-an-unknown-optimizer",
    ),
    pytest.param(
        "matrix.toml",
        "methods = [",
        "methods = ",
        "no TOML: ",
        id="matrix-that-is-no-toml",
    ),
]


@pytest.mark.parametrize(("name", "old", "new", "expected"), CASES)
def test_a_rule_finds_its_damage(root: Path, name: str, old: str, new: str, expected: str) -> None:
    damage(root, name, old, new)
    found = [line for line in findings(root) if line.startswith(f"catalog/{name}: {expected}")]
    assert len(found) == 1, findings(root)


def test_two_cards_of_one_name_are_told_apart_whatever_the_case(root: Path) -> None:
    text = (root / CARD).read_text(encoding="utf-8").replace("test-card-24gb", "test-two-24gb")
    text = text.replace('"tc-24gb"', "").replace("Test Card 24 GB", "Test CARD 24 GB")
    (root / "cards" / "test-two-24gb.toml").write_text(text, encoding="utf-8")
    (line,) = findings(root)
    assert line == (
        "catalog/cards/test-two-24gb.toml: name: catalog/cards/test-card-24gb.toml is called"
        ' "Test CARD 24 GB" too; write what tells them apart [duplicate-id]'
    )


@pytest.mark.parametrize("spelling", ["test", "TEST", "Te-St"])
def test_a_maker_is_spelt_as_in_the_other_files(root: Path, spelling: str) -> None:
    damage(root, CARD, 'vendor = "Test"', f'vendor = "{spelling}"')
    damage(root, MODEL, 'name = "Test 1B"', 'name = "Test 1 B"')
    text = (root / MODEL).read_text(encoding="utf-8").replace('"test-1b"', '"test-2b"')
    text = text.replace("1 B", "2 B").replace('"test"', "")
    (root / "models" / "test-2b.toml").write_text(text, encoding="utf-8")
    (line,) = findings(root)
    assert line == (
        f'catalog/{CARD}: vendor: other files spell it otherwise; did you mean "Test"?'
        f' (got "{spelling}") [out-of-range]'
    )


@pytest.mark.parametrize(
    ("spelling", "meant"),
    [
        ("apache", "apache-2.0"),
        ("apache-2", "apache-2.0"),
        ("Apache 2.0", "apache-2.0"),
        ("Apache License 2.0", "apache-2.0"),
        ("apahce-2.0", "apache-2.0"),
        ("MIT", "mit"),
        ("Open-Thing 1.1", "openthing-1.1"),
    ],
)
def test_a_licence_is_spelt_as_in_the_other_files(root: Path, spelling: str, meant: str) -> None:
    with_licences(root, spelling, "openthing-1.1", "openthing-1.1")
    (line,) = findings(root)
    assert line == (
        f'catalog/{MODEL}: license: usually spelt otherwise; did you mean "{meant}"?'
        f' (got "{spelling}") [out-of-range]'
    )


@pytest.mark.parametrize(
    "license_",
    ["apache-2.0", "mit", "apache-3.0", "modified-mit", "openthing", "openthing1.2", "x"],
)
def test_another_licence_is_free_text(root: Path, license_: str) -> None:
    with_licences(root, license_, "openthing1.1", "openthing1.1")
    assert findings(root) == []


def with_licences(root: Path, *licences: str) -> None:
    """The model under the first licence, and a copy of it under each other."""
    sound = (root / MODEL).read_text(encoding="utf-8")
    for number, each in enumerate(licences, start=1):
        text = sound.replace('license = "apache-2.0"', f'license = "{each}"')
        text = text.replace('"test-1b"', f'"test-{number}b"').replace("Test 1B", f"Test {number}B")
        text = text.replace('"test"', f'"test-{number}"')
        (root / "models" / f"test-{number}b.toml").write_text(text, encoding="utf-8")


def test_a_key_without_quotes_is_told_once(root: Path) -> None:
    quoted = '"expected.num_parameters" = "config"'
    damage(root, MODEL, quoted, quoted.replace('"', "", 2))
    (line,) = findings(root)
    assert "needs quotes" in line


def test_a_name_belongs_to_the_file_that_is_called_so(root: Path) -> None:
    text = (root / CARD).read_text(encoding="utf-8").replace('"tc-24gb"', '"test-card-24gb"')
    text = text.replace('id = "test-card-24gb"', 'id = "aa-24gb"')
    text = text.replace("Test Card 24 GB", "Another Card")
    (root / "cards" / "aa-24gb.toml").write_text(text, encoding="utf-8")
    (line,) = findings(root)
    assert line == (
        'catalog/cards/aa-24gb.toml: aliases[0]: "test-card-24gb" is taken by'
        " catalog/cards/test-card-24gb.toml; choose another name [duplicate-id]"
    )


def test_a_model_says_how_many_parameters_it_has(root: Path) -> None:
    path = root / MODEL
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("256_911_360", "256_911_361"), encoding="utf-8")
    (line,) = findings(root)
    assert line.startswith(
        f"catalog/{MODEL}: expected.num_parameters: the source and the core count differently;"
    )
    assert "expected 256911360, as the core counts from the config, got 256911361" in line


def test_without_a_published_total_the_way_for_a_rounded_one_is_told(root: Path) -> None:
    published = '[expected]\nnum_parameters = 256_911_360\nmatch = "exact"\n'
    damage(root, MODEL, '"expected.num_parameters" = "config"\n', "")
    damage(root, MODEL, published, "")
    (line,) = findings(root)
    assert line == (
        f"catalog/{MODEL}: expected: missing; add the published number of parameters and its"
        " source. The core counts 256,911,360; where the published one is this rounded, put this"
        " in and the published one as its note [missing-field]"
    )
    # That way passes.
    rounded = published.replace('"exact"', '"matches_card"\nnote = "0.3B on the model card."')
    cite = 'config = "config"\n'
    damage(root, MODEL, cite, f'{cite}"expected.num_parameters" = "config"\n')
    damage(root, MODEL, "[sources.config]\n", f"{rounded}\n[sources.config]\n")
    assert findings(root) == []


def test_two_files_cannot_share_a_name(root: Path) -> None:
    text = (root / CARD).read_text(encoding="utf-8").replace("test-card-24gb", "zz-24gb")
    text = text.replace("Test Card 24 GB", "Another Card")
    (root / "cards" / "zz-24gb.toml").write_text(text, encoding="utf-8")
    (line,) = findings(root)
    assert line == (
        'catalog/cards/zz-24gb.toml: aliases[0]: "tc-24gb" is taken by'
        " catalog/cards/test-card-24gb.toml; choose another name [duplicate-id]"
    )


def test_an_old_source_is_a_note_and_no_failure(root: Path) -> None:
    problems = check(root, today=datetime.date(2028, 6, 15))
    assert len(problems) == 5
    assert {problem.code for problem in problems} == {"stale-source"}
    assert not any(problem.is_failure for problem in problems)
    assert str(problems[0]) == (
        "catalog/cards/test-card-24gb.toml: sources.sheet.accessed: last read more than eighteen"
        " months ago; read it again (got 2026-11-30) [stale-source]"
    )


def test_a_source_of_eighteen_months_is_not_yet_old(root: Path) -> None:
    assert check(root, today=datetime.date(2026, 11, 30) + datetime.timedelta(days=548)) == []


def test_a_catalog_without_a_matrix_is_sound(root: Path) -> None:
    (root / "matrix.toml").unlink()
    assert findings(root) == []


def test_everything_wrong_is_told_at_once_and_in_order(root: Path) -> None:
    damage(root, CARD, "= 24\n", '= "24"\n')
    damage(root, METHOD, 'kind = "paper"', 'kind = "blog"')
    damage(root, MODEL, 'license = "apache-2.0"', 'license = "FILL"')
    damage(root, "matrix.toml", "test-adam", "adam")
    found = findings(root)
    assert found == sorted(found)
    assert [line.split(": ")[0] for line in found] == [
        "catalog/cards/test-card-24gb.toml",
        "catalog/matrix.toml",
        "catalog/methods/test-lora.toml",
        "catalog/models/test-1b.toml",
    ]


def test_lint_survives_a_file_that_is_no_record(root: Path) -> None:
    (root / CARD).write_text("id = 3\naliases = 4\nsources = 5\ncite = 6\n", encoding="utf-8")
    found = findings(root)
    assert "catalog/cards/test-card-24gb.toml: sources: wrong value (expected a table, got 5)" in (
        line.removesuffix(" [wrong-type]") for line in found
    )
    assert "catalog/cards/test-card-24gb.toml: cite: wrong value (expected a table, got 6)" in (
        line.removesuffix(" [wrong-type]") for line in found
    )


def test_every_code_is_explained_in_the_readme() -> None:
    text = (CATALOG_DIR / "README.md").read_text(encoding="utf-8")
    assert [code for code in PROBLEM_CODES if f"`{code}`" not in text] == []


def test_a_problem_prints_only_what_it_knows() -> None:
    bare = Problem(path="a.toml", key="b", message="no", code="bad-id")
    assert str(bare) == "a.toml: b: no [bad-id]"
