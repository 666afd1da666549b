"""Settings: bounds, layers, presets, the environment, the file, a story's own; what a model's window must hold."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously import BadInput, BlockingMemory, ScriptedModel, Settings
from previously.presets import CHOICES, PRESETS, compute_fold_tokens, show_value
from previously.settings import (
    DEFAULTS,
    OWNERS_KEYS,
    Layer,
    Origin,
    change_settings,
    explain_settings,
    make_layer,
    read_environment,
    resolve,
)
from previously.settings_file import find_effective, find_user_folder

DOCS = Path(__file__).parents[2] / "docs"


def code(**values: Any) -> Layer:
    return Layer(Origin.CODE, values)


def file(**values: Any) -> Layer:
    return Layer(Origin.FILE, values, "previously.toml")


def variables(**values: str) -> Layer:
    return Layer(Origin.VARIABLE, values)


def story(**values: Any) -> Layer:
    return Layer(Origin.STORY, values, "the settings of tale")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A settings file, and nothing in it yet."""
    path = tmp_path / "previously.toml"
    path.touch()
    return path


# values


def test_the_environment_says_otherwise() -> None:
    given = {"PREVIOUSLY_RECAP_WORDS": "200", "PREVIOUSLY_INPUT_PRICE": "0.15", "PREVIOUSLY_DB": "x", "HOME": "y"}
    settings = resolve([read_environment(given)])
    assert (settings.recap_words, settings.input_price, settings.tail_messages) == (200, 0.15, 12)
    assert resolve([read_environment({})]) == resolve([]) == Settings()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"PREVIOUSLY_TAIL_MESSAGES": "-1"}, "PREVIOUSLY_TAIL_MESSAGES is -1; it must be at least 0."),
        ({"PREVIOUSLY_TAIL_MESSAGES": "twelve"}, "PREVIOUSLY_TAIL_MESSAGES is 'twelve'; it must be a whole number."),
        ({"PREVIOUSLY_TAIL_MESSAGES": ""}, "PREVIOUSLY_TAIL_MESSAGES is ''; it must be a whole number."),
        ({"PREVIOUSLY_TAIL_MESSAGES": "1.5"}, "'1.5'; it must be a whole number."),
        ({"PREVIOUSLY_TAIL_MESSAGES": "9" * 5_000}, "it must be a whole number."),
        ({"PREVIOUSLY_WINDOW_TOKENS": "9" * 20}, "it must be at most 1000000000000."),
        ({"PREVIOUSLY_TIMEOUT_S": "1_000_000"}, "PREVIOUSLY_TIMEOUT_S is 1000000; it must be at most 86400."),
        ({"PREVIOUSLY_OUTPUT_PRICE": "nan"}, "PREVIOUSLY_OUTPUT_PRICE is nan; it must be at least 0."),
        ({"PREVIOUSLY_OUTPUT_PRICE": "inf"}, "PREVIOUSLY_OUTPUT_PRICE is inf; it must be at most"),
        ({"PREVIOUSLY_OUTPUT_PRICE": "free"}, "PREVIOUSLY_OUTPUT_PRICE is 'free'; it must be a number."),
        ({"PREVIOUSLY_REVIEW": "maybe"}, "PREVIOUSLY_REVIEW is 'maybe'; it must be true or false."),
        ({"PREVIOUSLY_PRESET": "opera"}, "it must be one of roleplay, novel, game, agent."),
        (
            {"PREVIOUSLY_TOKENIZER": "gtp-4o"},
            "it must be estimate, cl100k, o200k, a model of OpenAI's or the path of a",
        ),
        ({"PREVIOUSLY_TOKENIZER": ""}, "PREVIOUSLY_TOKENIZER is ''; it must be estimate"),
        (
            {"PREVIOUSLY_TAIL": "12"},
            "PREVIOUSLY_TAIL is no setting of Previously (did you mean PREVIOUSLY_TAIL_TURNS?)",
        ),
        ({"PREVIOUSLY_ENDPOIN": "x"}, "(did you mean PREVIOUSLY_ENDPOINT?)"),
        ({"PREVIOUSLY_recap_words": "9"}, "PREVIOUSLY_recap_words is no setting"),
        ({"PREVIOUSLY_ZZZZ": "9"}, "PREVIOUSLY_ZZZZ is no setting of Previously; docs/settings.md lists them."),
        ({"PREVIOUSLY_": "9"}, "PREVIOUSLY_ is no setting"),
    ],
)
def test_a_bad_variable_names_itself(given: dict[str, str], words: str) -> None:
    with pytest.raises(BadInput) as raised:
        resolve([read_environment(given)])
    assert words in str(raised.value)
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        ("1_500", "fold_tokens", 1_500),
        (" 20 ", "tail_messages", 20),
        ("1e-1", "input_price", 0.1),
        ("2", "input_price", 2.0),
        ("novel", "preset", "novel"),
        *((word, "review", True) for word in ("true", "True", "YES", "on", "1")),
        *((word, "review", False) for word in ("false", "no", "OFF", "0")),
    ],
)
def test_words_are_read_by_the_setting_they_are_for(words: str, key: str, value: object) -> None:
    read = getattr(resolve([variables(**{key: words})]), key)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"recap_words": "200"}, "recap_words in previously.toml is '200'; it must be a whole number."),
        ({"recap_words": 200.0}, "recap_words in previously.toml is 200.0; it must be a whole number."),
        ({"recap_words": True}, "recap_words in previously.toml is True; it must be a whole number."),
        ({"recap_words": -3}, "recap_words in previously.toml is -3; it must be at least 0."),
        ({"recap_words": 16**5_000}, "it must be at most"),
        ({"recap_words": {"novel": 3}}, "it must be a whole number."),
        ({"review": 1}, "review in previously.toml is 1; it must be true or false."),
        ({"input_price": "1"}, "input_price in previously.toml is '1'; it must be a number."),
        ({"preset": 3}, "preset in previously.toml is 3; it must be text."),
        ({"tokenizer": 3}, "tokenizer in previously.toml is 3; it must be text."),
        ({"chapter_words": 0}, "chapter_words in previously.toml is 0; it must be at least 10."),
        ({"recapwords": 3}, "recapwords in previously.toml is no setting of Previously (did you mean recap_words?)"),
    ],
)
def test_a_value_in_a_file_has_the_type_of_its_setting(given: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput) as raised:
        resolve([file(**given), variables(recap_words="100")])
    assert words in str(raised.value)
    assert len(str(raised.value)) < 200


def test_settings_in_python_are_held_to_the_same_bounds() -> None:
    with pytest.raises(BadInput, match="fold_tokens is 0; it must be at least 1"):
        Settings(fold_tokens=0)
    with pytest.raises(BadInput, match="preset is 'opera'; it must be one of"):
        Settings(preset="opera")
    with pytest.raises(BadInput, match="recap_words is '200'; it must be a whole number"):
        Settings(recap_words="200")  # type: ignore[arg-type]


# layers and presets


def test_later_layers_win() -> None:
    layers = [file(recap_words=1, tail_messages=1, fold_words=1), variables(recap_words="2", tail_messages="2")]
    settings = resolve([*layers, story(recap_words=3)])
    assert (settings.recap_words, settings.tail_messages, settings.fold_words) == (3, 2, 1)


def test_a_preset_is_the_ground_and_whatever_is_given_stands_on_it() -> None:
    settings = resolve([file(recap_words=150), variables(preset="game"), story(tail_turns=6)])
    assert (settings.preset, settings.recap_words, settings.tail_turns) == ("game", 150, 6)
    assert (settings.fold_tokens, settings.backbone_words) == (1_500, 300)
    assert resolve([variables(preset="game"), story(preset="novel")]) == Settings.of("novel")


def test_a_fold_is_due_at_a_share_of_the_window_unless_somebody_says_otherwise() -> None:
    assert resolve([variables(window_tokens="4096")]).fold_tokens == 1_024
    assert resolve([variables(window_tokens="32768")]).fold_tokens == 3_000, "a longer span is told too briefly"
    assert resolve([file(window_tokens=32_768), variables(fold_tokens="99")]).fold_tokens == 99
    assert resolve([file(fold_tokens=99), story(window_tokens=32_768)]).fold_tokens == 99
    assert Settings.of("agent", window_tokens=100_000).fold_tokens == 85_000
    assert Settings.of("game", window_tokens=100_000).fold_tokens == 1_500


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_holds_settings_that_can_be_used(preset: str) -> None:
    assert set(PRESETS[preset]) <= set(DEFAULTS) - OWNERS_KEYS - {"preset", "window_tokens"}
    settings = Settings.of(preset)
    settings.check_memory_window()
    assert settings.fold_tokens == compute_fold_tokens(preset, settings.window_tokens)
    assert resolve([make_layer(settings)]) == settings


def test_the_preset_for_roleplay_is_the_defaults() -> None:
    assert Settings.of("roleplay") == Settings()


VALUES = {
    key: st.sampled_from(CHOICES[key])
    if key in CHOICES
    else st.sampled_from(["estimate", "cl100k", "o200k", "gpt-4o"])
    if key == "tokenizer"
    else st.booleans()
    if isinstance(default, bool)
    else st.integers(10, 50)
    if key.endswith(("_percent", "_depth", "_steps", "_least", "_deepest")) or key == "scene_messages"
    else st.integers(2_048, 80_000)
    if isinstance(default, int)
    else st.sampled_from(["", "brave", "brave, tall"])
    if isinstance(default, str)
    else st.floats(0, 100)
    for key, default in DEFAULTS.items()
}


@given(st.fixed_dictionaries({}, optional=VALUES), st.fixed_dictionaries({}, optional=VALUES))
def test_any_settings_are_a_layer_that_others_can_stand_on(below: dict[str, Any], above: dict[str, Any]) -> None:
    for settings in (Settings(**below), resolve([code(**below)])):
        assert resolve([make_layer(settings)]) == settings
        on_top = resolve([make_layer(settings), story(**above)])
        assert all(getattr(on_top, key) == value for key, value in above.items())
    both = explain_settings([code(**below), story(**above)])
    assert {key for key, setting in both.items() if setting["from"] == "story"} == set(above)


def test_each_value_says_where_it_comes_from() -> None:
    layers = [file(recap_words=1, fold_words=1), variables(preset="agent", recap_words="2"), story(review=True)]
    found = explain_settings(layers)
    assert list(found) == list(DEFAULTS)
    assert found["recap_words"] == {"value": 2, "from": "PREVIOUSLY_RECAP_WORDS"}
    assert found["fold_words"] == {"value": 1, "from": "previously.toml"}
    assert found["review"] == {"value": True, "from": "story"}
    assert found["tail_turns"] == {"value": 2, "from": "preset agent"}
    assert found["fold_tokens"] == {"value": 6_963, "from": "85 % of window_tokens"}
    assert found["window_tokens"] == {"value": 8_192, "from": "default"}
    assert explain_settings([])["fold_tokens"] == {"value": 2_048, "from": "default"}


# a story's own


def test_a_story_has_settings_of_its_own() -> None:
    own = change_settings({}, ["recap_words=1_200", "review = yes", "preset=novel"])
    assert own == {"recap_words": 1_200, "review": True, "preset": "novel"}
    assert json.loads(json.dumps(own)) == own
    assert change_settings(own, ["recap_words=", "review=default", "tail_turns=default"]) == {"preset": "novel"}
    assert change_settings(own, []) == own


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("recap_words", "'recap_words' sets nothing; write key=value"),
        ("=5", "'=5' sets nothing"),
        ("recap_words=lots", "recap_words is 'lots'; it must be a whole number."),
        ("recap_words=-1", "recap_words is -1; it must be at least 0."),
        ("recap-words=5", "recap-words is no setting of Previously (did you mean recap_words?)"),
        ("nonsense=", "nonsense is no setting"),
        ("db=x", "db is no setting"),
        (
            "calls_per_day=5",
            "holds for all stories together; set it in previously.toml or as PREVIOUSLY_CALLS_PER_DAY.",
        ),
        ("timeout_s=", "timeout_s holds for all stories together"),
        ("tokenizer=x/tokenizer.json", "is named in previously.toml or as PREVIOUSLY_TOKENIZER, not by a story."),
    ],
)
def test_what_no_story_can_have_is_refused(assignment: str, words: str) -> None:
    own = {"recap_words": 5}
    with pytest.raises(BadInput) as raised:
        change_settings(own, ["tail_messages=3", assignment])
    assert words in str(raised.value)
    assert own == {"recap_words": 5}


def test_the_same_key_twice_is_a_slip() -> None:
    with pytest.raises(BadInput, match="recap_words is given twice"):
        change_settings({}, ["recap_words=5", "recap_words=6"])


def test_what_an_other_version_left_behind_can_be_taken_back() -> None:
    own = {"of_tomorrow": 5, "recap_words": 7}
    with pytest.raises(BadInput, match="of_tomorrow is no setting"):
        change_settings(own, ["recap_words=5"])
    assert change_settings(own, ["of_tomorrow="]) == {"recap_words": 7}


# the file


def test_a_file_holds_settings_and_names_places(config: Path) -> None:
    config.write_text(
        'preset = "game"\nrecap_words = 1_50\nreview = true\n'
        'db = "stories.db"\nendpoint = "http://127.0.0.1:1/v1"\nmodel = "m"\nprompts = "/etc/prompts"\n'
    )
    environment, layers = find_effective({"PREVIOUSLY_CONFIG": str(config), "PREVIOUSLY_MODEL": "other", "LANG": "C"})
    settings = resolve(layers)
    assert (settings.preset, settings.recap_words, settings.review, settings.tail_turns) == ("game", 150, True, 4)
    assert environment == {
        "PREVIOUSLY_CONFIG": str(config),
        "PREVIOUSLY_DB": str(config.parent / "stories.db"),
        "PREVIOUSLY_ENDPOINT": "http://127.0.0.1:1/v1",
        "PREVIOUSLY_MODEL": "other",
        "PREVIOUSLY_PROMPTS": str(Path("/etc/prompts")),
        "LANG": "C",
    }


def test_a_tokenizer_is_seen_from_the_folder_of_the_file(config: Path) -> None:
    for named, seen in (
        ("llama/tokenizer.json", str(config.parent / "llama" / "tokenizer.json")),
        ("o200k", "o200k"),
        ("openai/gpt-4o", "openai/gpt-4o"),
    ):
        config.write_text(f'tokenizer = "{named}"\n')
        _, layers = find_effective({"PREVIOUSLY_CONFIG": str(config)})
        assert resolve(layers).tokenizer == seen


def test_variables_win_over_the_file_and_empty_ones_switch_it_off(config: Path) -> None:
    config.write_text('recap_words = 100\nfold_words = 100\nendpoint = "http://x/v1"\ndb = ":memory:"\n')
    given = {"PREVIOUSLY_CONFIG": str(config), "PREVIOUSLY_RECAP_WORDS": "200", "PREVIOUSLY_ENDPOINT": ""}
    environment, layers = find_effective(given)
    settings = resolve(layers)
    assert (settings.recap_words, settings.fold_words) == (200, 100)
    assert (environment["PREVIOUSLY_ENDPOINT"], environment["PREVIOUSLY_DB"]) == ("", ":memory:")
    assert explain_settings(layers)["fold_words"]["from"] == str(config)


def test_where_the_file_is_looked_for(tmp_path: Path) -> None:
    here, home = tmp_path / "here", tmp_path / "home"
    (home / "previously").mkdir(parents=True)
    here.mkdir()
    environment = {"XDG_CONFIG_HOME": str(home)}

    def words() -> int:
        return resolve(find_effective(environment, here, "linux")[1]).recap_words

    assert words() == 450
    (home / "previously" / "previously.toml").write_text("recap_words = 1")
    assert words() == 1
    (here / "previously.toml").write_text("recap_words = 2")
    assert words() == 2
    (here / "own.toml").write_text("recap_words = 3")
    environment["PREVIOUSLY_CONFIG"] = "own.toml"
    assert words() == 3
    environment["PREVIOUSLY_CONFIG"] = ""
    assert words() == 450
    environment["PREVIOUSLY_CONFIG"] = "none.toml"
    with pytest.raises(BadInput, match=r"PREVIOUSLY_CONFIG names .*none\.toml, which is not there"):
        words()


def test_every_system_has_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert find_user_folder({}, "linux") == tmp_path / ".config" / "previously"
    assert find_user_folder({"XDG_CONFIG_HOME": ""}, "linux") == tmp_path / ".config" / "previously"
    assert find_user_folder({"XDG_CONFIG_HOME": "/x"}, "linux") == Path("/x/previously")
    assert find_user_folder({"XDG_CONFIG_HOME": "/x"}, "darwin") == tmp_path / "Library/Application Support/previously"
    assert find_user_folder({"APPDATA": "/r"}, "win32") == Path("/r/previously")
    assert find_user_folder({}, "win32") == tmp_path / "AppData/Roaming/previously"


def test_a_user_without_a_home_has_no_file(monkeypatch: pytest.MonkeyPatch, config: Path) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    assert find_user_folder({}, "linux") is None
    assert find_effective({}, config.parent / "elsewhere", "linux")[0] == {}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"recap_words 200\n", "is not TOML: Expected '=' after a key in a key/value pair (at line 1"),
        (b"a = 1\nb = [\n", "is not TOML: "),
        (b"recap_words = 1\nrecap_words = 2\n", "is not TOML: Cannot overwrite a value (at line 2"),
        (b"recap_words = " + b"9" * 5_000, "is not TOML: "),
        (b"a = " + b"[" * 100_000, ""),
        (b"preset = 'novel'\n# caf\xe9\n", "is not UTF-8 (line 2)."),
        ("preset = 'novel'".encode("utf-16"), "is not UTF-8 (line 1)."),
        (b"#" * 1_048_577, "is larger than 1 MB"),
        (b"recap_word = 5", "recap_word in {path} is no setting of Previously (did you mean recap_words?)"),
        (b"endpont = ''", "(did you mean endpoint?)"),
        (b"[roleplay]\nrecap_words = 5", "roleplay in {path} is no setting"),
        (b"api_key = 'sk-1234'", "api_key in {path} is refused: a file is no place for a key; use PREVIOUSLY_API_KEY."),
        (b"API-Key = 'sk-1234'", "use PREVIOUSLY_API_KEY."),
        (b"PREVIOUSLY_API_KEY = 'sk-1234'", "use PREVIOUSLY_API_KEY."),
        (b"model = 5", "model in {path} is '5'; it must be text, and not empty."),
        (b"db = ''", "db in {path} is ''; it must be text, and not empty."),
        (b"db = '~nobody-of-that-name/x'", "there is no such home folder."),
        (b'db = "a\\u0000b"', "db in {path} is"),
        (b"recap_words = '5'", "recap_words in {path} is '5'; it must be a whole number."),
        (b"recap_words = 2024-01-01", "it must be a whole number."),
    ],
)
def test_a_bad_file_is_named_with_the_fault(config: Path, content: bytes, words: str) -> None:
    config.write_bytes(content)
    with pytest.raises(BadInput) as raised:
        resolve(find_effective({"PREVIOUSLY_CONFIG": str(config)})[1])
    said = str(raised.value)
    assert words.format(path=config) in said
    assert str(config) in said
    assert "\n" not in said
    assert said.endswith(".")
    assert "sk-1234" not in said


def test_a_file_may_be_empty_or_written_by_a_windows_editor(config: Path) -> None:
    assert resolve(find_effective({"PREVIOUSLY_CONFIG": str(config)})[1]) == Settings()
    config.write_bytes(b"\xef\xbb\xbfrecap_words = 5\r\ntail_messages = 6\r\n")
    settings = resolve(find_effective({"PREVIOUSLY_CONFIG": str(config)})[1])
    assert (settings.recap_words, settings.tail_messages) == (5, 6)


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "previously.toml").mkdir()
    with pytest.raises(BadInput, match=r"previously\.toml cannot be read"):
        find_effective({"XDG_CONFIG_HOME": str(tmp_path)}, tmp_path)


def test_settings_cost_little_to_load_where_there_is_no_file(tmp_path: Path) -> None:
    asked = (
        "import sys; from previously.settings_file import find_effective; "
        f"find_effective({{'XDG_CONFIG_HOME': {str(tmp_path)!r}}}); print(*sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", asked], cwd=tmp_path, capture_output=True, encoding="utf-8", check=True, timeout=60
    )
    assert not set(ran.stdout.split()) & {"tomllib", "difflib", "asyncio", "apsw", "previously.app", "typer"}


# the page


def test_the_page_has_every_value_of_every_preset() -> None:
    page = (DOCS / "settings.md").read_text("utf-8")
    header = "| | " + " | ".join(f"`{preset}`" for preset in PRESETS) + " |"
    assert header in page
    table = page[page.index(header) :].split("\n\n")[0]
    rows = {match[1]: match[2] for match in re.finditer(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE)}
    differing = {key for preset in PRESETS.values() for key in preset} | {"fold_tokens"}
    assert set(rows) == differing
    for key in differing - {"fold_tokens"}:
        assert rows[key].split(" | ") == [show_value(getattr(Settings.of(preset), key)) for preset in PRESETS], key
    assert rows["fold_tokens"].split(" | ") == ["25 % of the window, 3,000 at most"] * 2 + [
        "1,500",
        "85 % of the window",
    ]


@pytest.mark.parametrize("key", DEFAULTS)
def test_the_page_has_every_default(key: str) -> None:
    row = re.search(rf"^\| `{key}` \| ([^|]*) \| `(\w+)` \|", (DOCS / "settings.md").read_text("utf-8"), re.MULTILINE)
    assert row
    assert row.groups() == (show_value(DEFAULTS[key]), f"PREVIOUSLY_{key.upper()}")


# a model's window


def test_a_window_too_small_for_its_recap_is_refused_where_a_model_is_used() -> None:
    large = Settings(recap_words=2_000)
    BlockingMemory(":memory:", settings=large).close()
    with pytest.raises(BadInput, match="at least 9000"):
        BlockingMemory(":memory:", settings=large, model=ScriptedModel(""))


def test_a_file_in_the_current_folder_may_not_say_where_stories_go(tmp_path: Path) -> None:
    config = tmp_path / "previously.toml"
    config.write_text('recap_words = 100\nendpoint = "http://elsewhere/v1"\nmodel = "m"\n')
    with pytest.raises(BadInput, match="names an endpoint"):
        find_effective({}, tmp_path)
    environment, _ = find_effective({"PREVIOUSLY_CONFIG": str(config)}, tmp_path)
    assert environment["PREVIOUSLY_ENDPOINT"] == "http://elsewhere/v1"
