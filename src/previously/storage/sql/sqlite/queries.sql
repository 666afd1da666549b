-- Stories

-- name: stories
SELECT s.id, s.name, s.budget_tokens, b.name, b.head, b.messages,
       (SELECT count(*) FROM branch WHERE story = s.id)
FROM story s JOIN branch b ON b.id = s.active
WHERE s.owner = :owner ORDER BY s.name

-- name: story_named
SELECT s.id, s.name, s.budget_tokens, b.name, b.head, b.messages,
       (SELECT count(*) FROM branch WHERE story = s.id)
FROM story s JOIN branch b ON b.id = s.active
WHERE s.owner = :owner AND s.name = :name

-- name: insert_story
INSERT INTO story (owner, name, active, created_at) VALUES (:owner, :name, 0, :at)

-- name: set_active
UPDATE story SET active = :branch WHERE id = :story AND owner = :owner

-- name: header
SELECT header FROM story WHERE id = :story AND owner = :owner

-- name: set_header
UPDATE story SET header = :header WHERE id = :story AND owner = :owner

-- name: settings
SELECT settings FROM story WHERE id = :story AND owner = :owner

-- name: set_settings
UPDATE story SET settings = :settings WHERE id = :story AND owner = :owner

-- name: set_budget_tokens
UPDATE story SET budget_tokens = :budget_tokens WHERE id = :story AND owner = :owner

-- Branches and lines

-- name: branch_rows
SELECT id, name, head, messages, line FROM branch WHERE story = :story AND owner = :owner ORDER BY id

-- name: branches
SELECT name, head, messages FROM branch WHERE story = :story AND owner = :owner ORDER BY id

-- name: active_branch
SELECT b.id, b.name, b.head, b.messages, b.line FROM story s JOIN branch b ON b.id = s.active
WHERE s.id = :story AND s.owner = :owner

-- name: branch_named
SELECT id, name, head, messages, line FROM branch WHERE story = :story AND owner = :owner AND name = :name

-- name: insert_branch
INSERT INTO branch (owner, story, name, head, messages, line, created_at)
VALUES (:owner, :story, :name, :head, :messages, :line, :at)

-- name: publish_branch
UPDATE branch SET head = :head, messages = :messages, line = :line WHERE id = :branch AND owner = :owner

-- name: insert_line
INSERT INTO line (owner, story, parent, fork, published) VALUES (:owner, :story, :parent, :fork, :published)

-- name: publish_line
UPDATE line SET published = 1 WHERE id = :line AND owner = :owner

-- name: line
SELECT parent, fork FROM line WHERE id = :line AND owner = :owner

-- name: lines_of_story
SELECT id, parent, fork FROM line WHERE story = :story AND owner = :owner

-- name: line_serves_another
SELECT 1 FROM line WHERE parent = :line AND fork > :depth AND owner = :owner LIMIT 1

-- Paths

-- name: path_span
SELECT p.depth, p.node, n.hash, e.id, e.role, e.speaker, e.text, e.parts, e.witnesses, e.digest,
       e.at, e.source_id, e.extra, e.hidden, e.replaces
FROM path p JOIN node n ON n.id = p.node JOIN entry e ON e.id = p.entry
WHERE p.line = :line AND p.depth BETWEEN :first AND :last AND p.owner = :owner ORDER BY p.depth

-- name: path_known
SELECT e.id, e.digest, e.match_key, e.role, e.at, e.source_id, e.extra, e.hidden
FROM path p JOIN entry e ON e.id = p.entry
WHERE p.line = :line AND p.depth BETWEEN :first AND :last AND p.owner = :owner ORDER BY p.depth

-- name: path_digests
SELECT e.id, e.digest
FROM path p JOIN entry e ON e.id = p.entry
WHERE p.line = :line AND p.depth BETWEEN :first AND :last AND p.owner = :owner ORDER BY p.depth

-- name: path_node
SELECT p.node, n.hash, n.parent FROM path p JOIN node n ON n.id = p.node
WHERE p.line = :line AND p.depth = :depth AND p.owner = :owner

-- name: last_place
SELECT max(depth) FROM path
WHERE entry = :entry AND line = :line AND depth BETWEEN :first AND :last AND owner = :owner

-- name: insert_path
INSERT INTO path (owner, line, depth, node, entry) VALUES (?, ?, ?, ?, ?)

-- name: delete_path_from
DELETE FROM path WHERE line = :line AND depth >= :depth AND owner = :owner

-- Entries and nodes

-- name: last_entry_id
SELECT coalesce(max(id), 0) FROM entry

-- name: last_node_id
SELECT coalesce(max(id), 0) FROM node

-- name: insert_entry
INSERT INTO entry (id, owner, story, role, speaker, text, parts, witnesses, digest, match_key,
                   at, source_id, extra, hidden, replaces)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_node
INSERT INTO node (id, owner, story, parent, depth, entry, hash) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: node_at
SELECT id, hash FROM node WHERE story = :story AND parent = :parent AND entry = :entry AND owner = :owner

-- name: node_entry
SELECT entry FROM node WHERE id = :node AND story = :story AND owner = :owner

-- name: leading_to
WITH RECURSIVE up (id, parent, depth, entry, hash) AS (
    SELECT id, parent, depth, entry, hash FROM node WHERE id = :node AND story = :story AND owner = :owner
    UNION ALL
    SELECT n.id, n.parent, n.depth, n.entry, n.hash FROM up JOIN node n ON n.id = up.parent AND n.owner = :owner
    LIMIT :most
)
SELECT up.depth, up.id, up.hash, e.id, e.role, e.speaker, e.text, e.parts, e.witnesses, e.digest,
       e.at, e.source_id, e.extra, e.hidden, e.replaces
FROM up JOIN entry e ON e.id = up.entry ORDER BY up.depth

-- name: entry_digest
SELECT digest FROM entry WHERE id = :entry AND story = :story AND owner = :owner

-- name: node_siblings
SELECT n.depth, n.id, n.hash, e.id, e.role, e.speaker, e.text, e.parts, e.witnesses, e.digest,
       e.at, e.source_id, e.extra, e.hidden, e.replaces
FROM node n JOIN entry e ON e.id = n.entry
WHERE n.story = :story AND n.parent = :parent AND n.owner = :owner
  AND NOT EXISTS (SELECT 1 FROM line l JOIN path p ON p.line = l.id AND p.depth = n.depth
                  WHERE l.story = n.story AND l.published = 0 AND p.node = n.id)
ORDER BY n.id

-- name: sibling_digests
SELECT e.digest FROM node n JOIN entry e ON e.id = n.entry
WHERE n.story = :story AND n.parent = :parent AND n.owner = :owner
  AND NOT EXISTS (SELECT 1 FROM line l JOIN path p ON p.line = l.id AND p.depth = n.depth
                  WHERE l.story = n.story AND l.published = 0 AND p.node = n.id)

-- name: set_attributes
UPDATE entry SET at = ?, source_id = ?, extra = ?, hidden = ? WHERE id = ? AND story = ? AND owner = ?

-- Moves and receipts

-- name: insert_move
INSERT INTO move (owner, story, branch, old_head, new_head, at)
VALUES (:owner, :story, :branch, :old_head, :new_head, :at)

-- name: moves
SELECT b.name, m.old_head, m.new_head, m.at FROM move m JOIN branch b ON b.id = m.branch
WHERE m.story = :story AND m.owner = :owner ORDER BY m.id

-- name: receipt
SELECT 1 FROM receipt WHERE story = :story AND key = :key AND owner = :owner

-- name: insert_receipt
INSERT INTO receipt (owner, story, key) VALUES (:owner, :story, :key)

-- Marks

-- name: marks
SELECT id, origin, kind, position, text, made_by, at, seen, of, after, behind FROM mark
WHERE branch = :branch AND position >= :since AND retired_by = 0 AND owner = :owner ORDER BY position, behind, id

-- name: marks_of_kinds
SELECT id, origin, kind, position, text, made_by, at, seen, of, after, behind FROM mark INDEXED BY mark_by_kind
WHERE branch = :branch AND kind IN (SELECT value FROM json_each(:kinds)) AND position >= :since AND retired_by = 0
  AND owner = :owner
ORDER BY position, behind, id

-- name: every_mark
SELECT id, origin, kind, position, text, made_by, at, seen, of, after, behind, retired_by FROM mark
WHERE branch = :branch AND position >= :since AND owner = :owner ORDER BY id

-- name: newest_mark
SELECT id, origin, kind, position, text, made_by, at, seen, of, after, behind FROM mark INDEXED BY mark_by_kind
WHERE branch = :branch AND kind = :kind AND retired_by = 0 AND owner = :owner
ORDER BY position DESC, behind DESC, id DESC LIMIT 1 OFFSET :number

-- name: count_marks
SELECT count(DISTINCT position) FROM mark INDEXED BY mark_by_kind
WHERE branch = :branch AND kind = :kind AND position BETWEEN 0 AND :through AND retired_by = 0 AND owner = :owner

-- name: mark_on_branch
SELECT 1 FROM mark WHERE id = :mark AND branch = :branch AND retired_by = 0 AND owner = :owner

-- name: standing_mark_of_origin
SELECT position FROM mark WHERE branch = :branch AND origin = :origin AND retired_by = 0 AND owner = :owner

-- name: mark_of_origin
SELECT position FROM mark WHERE branch = :branch AND origin = :origin AND owner = :owner LIMIT 1

-- name: insert_mark
INSERT INTO mark (owner, story, branch, origin, kind, position, text, made_by, at, seen, of, after, behind,
                  retired_by)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: set_mark_origin
UPDATE mark SET origin = id WHERE id = :mark AND owner = :owner

-- name: mark_behind
SELECT behind FROM mark WHERE branch = :branch AND origin = :origin AND retired_by = 0 AND owner = :owner

-- name: retire_mark
UPDATE mark SET retired_by = -1 WHERE id = ? AND branch = ? AND retired_by = 0 AND owner = ?

-- name: set_retired_by
UPDATE mark SET retired_by = ? WHERE id = ? AND retired_by = -1 AND owner = ?

-- name: move_mark
UPDATE mark SET position = ?, behind = ? WHERE id = ? AND owner = ?

-- name: delete_mark
DELETE FROM mark WHERE id = :mark AND branch = :branch AND owner = :owner

-- name: revive_marks
UPDATE mark SET retired_by = 0 WHERE branch = :branch AND retired_by = :mark AND owner = :owner

-- name: newest_version_id
SELECT coalesce(max(id), 0) FROM version WHERE story = :story AND owner = :owner

-- Versions and cover. INDEXED BY where SQLite, without statistics, would rather read all kinds in path order.

-- name: insert_version
INSERT INTO version (owner, story, kind, scope, first, last, length, key, before, replaces, text, carry, status, made_by,
                     reason, at, model, prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach,
                     commitments, firm)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: version_by_read
SELECT id, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, model,
       prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, firm
FROM version
WHERE story = :story AND before = :before AND kind = :kind AND scope = :scope AND key = :key
  AND replaces = :replaces AND status NOT IN ('refused', 'by hand') AND owner = :owner

-- name: versions
SELECT id, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, model,
       prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, firm
FROM version WHERE story = :story AND owner = :owner ORDER BY id

-- name: version
SELECT id, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, model,
       prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, firm
FROM version WHERE id = :version AND story = :story AND owner = :owner

-- name: newest_versions
SELECT id, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, model,
       prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, firm
FROM version
WHERE story = :story AND kind = :kind AND scope = :scope AND status = :status AND reach > :beyond AND owner = :owner
ORDER BY id DESC LIMIT :most

-- name: built_on
WITH RECURSIVE built (id) AS (
    SELECT id FROM version WHERE id = :version AND story = :story AND owner = :owner
    UNION
    SELECT v.id FROM built CROSS JOIN version v ON v.story = :story AND v.before = built.id AND v.owner = :owner
)
SELECT id FROM built ORDER BY id

-- name: set_status
UPDATE version SET status = :status, reason = :reason WHERE id = :version AND story = :story AND owner = :owner

-- name: loosen_version
UPDATE version SET firm = 0 WHERE id = ? AND owner = ?

-- name: loosen_cover
UPDATE cover SET firm = 0 WHERE version = ? AND owner = ?

-- name: longest_version
SELECT coalesce(max(length), 0) FROM version WHERE story = :story AND owner = :owner

-- name: links_after
SELECT id, length, key, kind, scope, firm FROM version
WHERE story = :story AND before = :before AND status IN ('committed', 'provisional') AND owner = :owner
ORDER BY id

-- name: links_beginning
SELECT id, length, key, kind, scope, firm FROM version
WHERE story = :story AND before = 0 AND scope = :scope AND status IN ('committed', 'provisional') AND owner = :owner
ORDER BY id

-- name: cover_span
SELECT first, last, version, scope FROM cover
WHERE line = :line AND last BETWEEN :first AND :last AND firm >= :firm AND owner = :owner

-- name: cover_of_kind
SELECT first, last, version, scope FROM cover INDEXED BY cover_by_kind
WHERE line = :line AND kind = :kind AND last BETWEEN :first AND :last AND firm >= :firm AND owner = :owner

-- name: cover_going_on
SELECT c.version, c.last, c.scope FROM cover c
WHERE c.line = :line AND c.last BETWEEN :first AND :last AND c.owner = :owner
  AND EXISTS (SELECT 1 FROM version v WHERE v.story = :story AND v.before = c.version AND c.last + v.length >= :depth
              AND v.status IN ('committed', 'provisional') AND v.owner = :owner)

-- name: cover_of_version
SELECT line, last FROM cover WHERE version = :version AND owner = :owner

-- name: inherit_cover
INSERT OR IGNORE INTO cover (owner, line, kind, scope, first, last, version, firm)
SELECT owner, :to_line, kind, scope, first, last, version, firm FROM cover
WHERE line = :from_line AND last <= :last AND owner = :owner

-- name: furthest_cover
SELECT first, last, version FROM cover INDEXED BY cover_by_kind
WHERE line = :line AND kind = :kind AND scope = :scope AND last BETWEEN :first AND :last AND firm >= :firm
  AND owner = :owner
ORDER BY last DESC, version DESC LIMIT 1

-- name: insert_cover
INSERT INTO cover (owner, line, kind, scope, first, last, version, firm) VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: delete_cover_from
DELETE FROM cover WHERE line = :line AND last >= :depth AND owner = :owner

-- name: delete_cover_of
DELETE FROM cover WHERE version = ? AND owner = ?

-- name: spent
SELECT coalesce(sum(calls), 0), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0)
FROM version WHERE owner = :owner AND at >= :since AND calls > 0

-- name: lease
SELECT holder, until FROM lease WHERE story = :story AND work = :work AND owner = :owner

-- name: take_lease
INSERT INTO lease (owner, story, work, holder, until) VALUES (:owner, :story, :work, :holder, :until)
ON CONFLICT (story, work) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE lease.holder = excluded.holder OR lease.until <= :now

-- name: give_lease
DELETE FROM lease WHERE story = :story AND work = :work AND holder = :holder AND owner = :owner
