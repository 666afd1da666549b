// Changes to a story: sent once, told to every part that shows the story, and each with its Undo.
import { get, send, storyPath } from "./api.js";
import { announce } from "./store.js";
import { confirm, counted, toast } from "./ui.js";

/**
 * Change something in a story and say so, with an Undo beside it.
 * @param {string} story
 * @param {string} method
 * @param {(string | number)[]} path  below the story: `["things", "recap", "lock"]`
 * @param {unknown} [body]
 * @param {import("./api.js").Options & { done?: string, undo?: boolean }} [options]  `done`: the sentence that is shown; `undo`
 *   false where the change cannot be taken back
 */
export async function change(story, method, path, body, options = {}) {
  const answer = await send(method, storyPath(story, ...path), body, options);
  announce(`story:${story}`);
  toast(options.done ?? answer?.done ?? "Done.", options.undo === false ? {} : { action: "Undo", run: () => undoLast(story) });
  return answer;
}

/** Take back the last thing that was done to a story, and say so. @param {string} story */
export async function undoLast(story) {
  const plan = await get(storyPath(story, "undo"));
  const imported = plan.what.includes("import");
  if (plan.messages > (imported ? 1 : 2)) { // a message and the reply to it are no surprise
    const title = `Take out the ${counted(plan.messages, "message")} that ${imported ? "this import" : "you"} added?`;
    if (!(await confirm({ title, text: "Memory that was made of them goes with them.", action: "Take them out", danger: true }))) return;
  }
  const answer = await send("POST", storyPath(story, "undo"));
  announce(`story:${story}`);
  toast(answer?.done ?? "The last change is taken back.");
}
