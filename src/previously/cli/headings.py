"""The commands under their headings: where each is, and its line in the help."""

from __future__ import annotations

HEADINGS: dict[str, dict[str, tuple[str, str]]] = {
    "Start here": {
        "demo": ("demo.demo", "See it at work on a sample story."),
        "open": ("open_page.open_page", "Open your stories in the browser: read, correct, write on."),
        "try": ("try_file.try_file", "See it at work on a chat of your own; nothing is kept."),
        "import": ("import_files.import_files", "Bring chats in from files, or bring them up to date."),
        "stories": ("stories.stories", "List your stories."),
        "show": ("show.show", "Show what is remembered of a story, or one thing of it."),
        "view": ("view.view", "Show exactly what a model would see."),
        "ask": ("ask.ask", "Ask a question, and get the passages that answer it."),
        "search": ("search.search", "Find messages again."),
        "fold": ("memory.fold", "Fold old messages into memory."),
        "undo": ("memory_edits.undo", "Take back the last thing you did."),
        "serve": ("serve.serve", "Run the memory proxy for SillyTavern, agents and other clients."),
    },
    "Ask where things come from": {
        "why": ("view.why", "Show what the model saw when it gave an answer."),
        "blame": ("versions.blame", "Name the messages behind a sentence of memory."),
        "log": ("versions.log", "Say what folds and people wrote; -v lists every version."),
        "diff": ("versions.diff", "Show word by word what changed in a text."),
        "who-knows": ("cast.who_knows", "Show which characters know of something."),
    },
    "Have the last word": {
        "edit": ("memory_edits.edit", "Put your words in place of a message, a text or a line."),
        "remove": ("memory_edits.remove", "Take a thing away; nothing is destroyed."),
        "lock": ("memory_edits.lock", "Keep a text as it stands."),
        "unlock": ("memory_edits.unlock", "Give up what you wrote or locked."),
        "pin": ("memory_edits.pin", "Show words in every view."),
        "restore": ("backup.restore", "Bring an earlier version back, or stories from a backup."),
        "pending": ("review.pending", "List what waits for your approval."),
        "approve": ("review.approve", "Put a version that waits in force."),
        "reject": ("review.reject", "Refuse a version that waits."),
    },
    "Change a story": {
        "write": ("write.write", "Let a model write a story on."),
        "add": ("transcript.add", "Add a message; a new name begins a new story."),
        "continue": ("continue_story.continue_story", "Begin a new story with the memory of another."),
        "delete": ("transcript.delete", "Take a message out of the story; the store keeps it."),
        "hide": ("transcript.hide", "Do not show a message in views; it is still remembered."),
        "unhide": ("transcript.unhide", "Show a hidden message again."),
        "branch": ("branches.branch", "Begin a branch: what if it had gone otherwise?"),
        "switch": ("branches.switch", "Go on with another branch."),
        "presence": ("cast.presence", "Show and correct who was there."),
        "rename": ("stories.rename", "Give a story another name."),
        "set": ("settings.set_values", "Give a story settings of its own, or list those in force."),
        "presets": ("settings.presets", "List the kinds of stories and what each means."),
    },
    "Lists in memory (list, show, add, edit, remove)": {
        "lore": ("lore.app", "What things are: people, places, objects."),
        "threads": ("threads.app", "What is open: promises, debts, questions."),
        "state": ("state.app", "How things stand now."),
        "wishes": ("wishes.app", "What the players asked for about the telling."),
        "cast": ("cast.app", "The characters, and what each knows."),
        "chapters": ("chapters.app", "The chapters of a story."),
        "scenes": ("scenes.app", "The scenes that were noted."),
        "branches": ("branches.app", "The branches of a story."),
        "shared": ("share_memory.app", "What a character, a world or a project keeps for many stories."),
        "books": ("books.app", "Sets of lore that any story can use."),
    },
    "Agents, novels, games": {
        "compact": ("compact.compact", "Make an agent's conversation fit its window."),
        "analyze": ("scenes.analyze", "Analyse fragments of a novel, as the librarian does."),
        "play": ("play.play", "Play a text game whose characters remember."),
    },
    "Upkeep": {
        "export": ("export.export", "Write a story to a file, for other programs or for people."),
        "apply": ("apply.apply", "Bring edits of an exported directory back into its story."),
        "backup": ("backup.backup", "Copy all stories to a file."),
        "move": ("backup.move", "Copy all stories to another place."),
        "forget": ("forget.forget", "Destroy messages or a whole story, for good."),
        "verify": ("verify.verify", "Check that everything stored is sound."),
        "gc": ("verify.gc", "Take away what no story needs."),
        "doctor": ("stories.doctor", "Check that everything works here."),
        "keys": ("keys.app", "Who may use a server."),
        "completion": ("completion.completion", "Let the Tab key complete commands and names."),
        "help": ("help.help_command", "List all commands, or explain one."),
    },
}
"""The commands under their headings, in the order of the help: the function, or the group of commands, that each is in
this package, and its line in the help. The first heading is what a newcomer needs."""

COMMANDS = {name: target for commands in HEADINGS.values() for name, (target, _) in commands.items()}
