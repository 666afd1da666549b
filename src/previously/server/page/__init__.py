"""The page at `/`: files that a browser runs, and the routes that serve them.

`index.html` loads `app.js`, the frame: head, tabs, keys, notices, the way in. `screens.js` names the screens; each is a
module in `screens/`, loaded when it is first shown. They are drawn with `preact.js`, made of the parts in `ui.js`
(`editor.js`, `diff.js`), kept up to date by `store.js`, and ask the server through `api.js` and `actions.js` alone.
`page.css` is the one style. Nothing is built: what is here is what a browser gets.
"""
