"""Real coding agents, each started as a person would in a script: pointed at an address, with a home of its own, no
network beside it, and everything allowed that the task needs.

They are the npm packages and the Python packages that `make test-clients` puts into `.clients/`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.clients.agent import LARGE_WINDOW, Agent
from tests.clients.agent_model import MODEL
from tests.clients.agent_work import TALKS
from tests.clients.open_webui import OpenWebUI
from tests.clients.sillytavern import CLIENTS
from tests.clients.workplace import KEY, Workplace, part_path

PACKAGES = CLIENTS / "node_modules"


class Opencode(Agent):
    name = "opencode"

    def furnish(self, place: Workplace, origin: str, window: int = LARGE_WINDOW) -> None:
        model = {"name": "Quay 1", "tool_call": True, "limit": {"context": window, "output": 4_000}}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Quay",
            "options": {"baseURL": f"{origin}/v1", "apiKey": KEY},
            "models": {MODEL: model},
        }
        settings = {
            "model": f"quay/{MODEL}",
            "small_model": f"quay/{MODEL}",
            "provider": {"quay": provider},
            "autoupdate": False,
            "share": "disabled",
            "permission": {"edit": "allow", "bash": "allow", "read": "allow"},
        }
        _write(place.home / ".config/opencode/opencode.json", json.dumps(settings))

    def command(self, place: Workplace, origin: str, task: str, *, goes_on: bool) -> Sequence[str | Path]:
        program = PACKAGES / "opencode-linux-x64-baseline/bin/opencode"  # runs on machines without newer instructions
        return [program, "run", *(["--continue"] if goes_on else []), task]

    def variables(self, origin: str) -> dict[str, str]:
        off = "AUTOUPDATE MODELS_FETCH LSP_DOWNLOAD DEFAULT_PLUGINS CLAUDE_CODE_SKILLS"
        return {f"OPENCODE_DISABLE_{name}": "1" for name in off.split()}


class Codex(Agent):
    name = "codex"

    def furnish(self, place: Workplace, origin: str, window: int = LARGE_WINDOW) -> None:
        settings = f"""\
model = "{MODEL}"
model_provider = "quay"
model_context_window = {window}
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.quay]
name = "Quay"
base_url = "{origin}/v1"
env_key = "QUAY_KEY"
wire_api = "responses"

[analytics]
enabled = false

[projects."{place.project}"]
trust_level = "trusted"
"""
        _write(place.home / ".codex/config.toml", settings)

    def command(self, place: Workplace, origin: str, task: str, *, goes_on: bool) -> Sequence[str | Path]:
        program = PACKAGES / "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
        return [program, "exec", *(["resume", "--last"] if goes_on else []), task]

    def variables(self, origin: str) -> dict[str, str]:
        return {"QUAY_KEY": KEY}


class ClaudeCode(Agent):
    name = "claude_code"

    def furnish(self, place: Workplace, origin: str, window: int = LARGE_WINDOW) -> None:
        place.home.mkdir(parents=True, exist_ok=True)

    def command(self, place: Workplace, origin: str, task: str, *, goes_on: bool) -> Sequence[str | Path]:
        program = PACKAGES / "@anthropic-ai/claude-code-linux-x64/claude"
        return [program, "-p", "--dangerously-skip-permissions", *(["--continue"] if goes_on else []), task]

    def variables(self, origin: str) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": origin,
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_MODEL": MODEL,
            "ANTHROPIC_SMALL_FAST_MODEL": MODEL,
            "DISABLE_AUTO_COMPACT": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",  # as root it wants to hear that nothing of the machine's is at stake
        }


class Aider(Agent):
    name = "aider"

    def furnish(self, place: Workplace, origin: str, window: int = LARGE_WINDOW) -> None:
        told = {"max_input_tokens": window, "max_output_tokens": 4_000, "litellm_provider": "openai", "mode": "chat"}
        _write(place.home / "models.json", json.dumps({f"openai/{MODEL}": told}))
        _write(place.home / ".aider.conf.yml", f"max-chat-history-tokens: {window // 4}\n")

    def command(self, place: Workplace, origin: str, task: str, *, goes_on: bool) -> Sequence[str | Path]:
        switched_off = "show-model-warnings check-update gitignore suggest-shell-commands auto-lint pretty fancy-input"
        return [
            CLIENTS / "aider/bin/aider", "--model", f"openai/{MODEL}", "--weak-model", f"openai/{MODEL}",
            "--edit-format", "diff", "--model-metadata-file", place.home / "models.json", "--yes-always",
            "--analytics-disable", *(f"--no-{name}" for name in switched_off.split()),
            *(["--restore-chat-history"] if goes_on else []),
            "--read", "AGENTS.md", "--file", part_path(5),
        ]  # fmt: skip

    def typed(self, task: str) -> str:
        return "".join(f"{line}\n" for line in TALKS.get(task, (task,)))

    def variables(self, origin: str) -> dict[str, str]:
        return {"OPENAI_API_BASE": f"{origin}/v1", "OPENAI_API_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


AGENTS: dict[str, Agent] = {agent.name: agent for agent in (Opencode(), Codex(), ClaudeCode(), Aider(), OpenWebUI())}
