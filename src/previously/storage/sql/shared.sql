-- Queries that both databases understand. `:name` and `?` stand for values; queries.py writes them as each driver wants.
-- A query of the same name in a backend's own file stands in for the one here.

-- name: stories
SELECT s.id, s.name, s.budget_tokens, b.name, b.head, b.messages,
       (SELECT count(*) FROM branch WHERE story = s.id)
FROM story s JOIN branch b ON b.id = s.active
WHERE s.owner = :owner ORDER BY s.name

-- name: last_changes
SELECT s.id, (SELECT m.at FROM move m WHERE m.story = s.id ORDER BY m.id DESC LIMIT 1)
FROM story s WHERE s.owner = :owner

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

-- name: usage
SELECT coalesce(usage, '{}') FROM story WHERE id = :story AND owner = :owner

-- name: set_usage
UPDATE story SET usage = :usage WHERE id = :story AND owner = :owner

-- name: set_budget_tokens
UPDATE story SET budget_tokens = :budget_tokens WHERE id = :story AND owner = :owner

-- name: rename_story
UPDATE story SET name = :name WHERE id = :story AND owner = :owner

-- name: backups
SELECT path, at, stories FROM backup WHERE owner = :owner ORDER BY at

-- name: update_backup
UPDATE backup SET stories = :stories WHERE owner = :owner AND path = :path AND at = :at

-- name: insert_backup
INSERT INTO backup (owner, path, at, stories) VALUES (:owner, :path, :at, :stories)

-- Keys: those of everybody, asked for in the name of nobody

-- name: access_keys
SELECT name, owner, hash, ending, at FROM access_key ORDER BY name

-- name: access_key_named
SELECT name, owner, hash, ending, at FROM access_key WHERE name = :name

-- name: owner_of_access_key
SELECT owner FROM access_key WHERE hash = :hash

-- name: insert_access_key
INSERT INTO access_key (name, owner, hash, ending, at) VALUES (:name, :owner, :hash, :ending, :at)
ON CONFLICT (name) DO NOTHING

-- name: delete_access_key
DELETE FROM access_key WHERE name = :name AND owner = :owner

-- Books: of an owner, attached to stories

-- name: books
SELECT name, at, octet_length(body) FROM book WHERE owner = :owner ORDER BY name

-- name: attached_books
SELECT name FROM story_book WHERE story = :story AND owner = :owner ORDER BY position

-- Answers of models, and what is known of them

-- name: answer
SELECT text FROM answer WHERE owner = :owner AND request = :request

-- name: drop_answers
DELETE FROM answer WHERE owner = :owner
  AND id <= (SELECT id FROM answer WHERE owner = :owner ORDER BY id DESC LIMIT 1 OFFSET :most)

-- name: drop_model_facts
DELETE FROM model_fact WHERE owner = :owner
  AND id <= (SELECT id FROM model_fact WHERE owner = :owner ORDER BY id DESC LIMIT 1 OFFSET :most)

-- Branches and lines

-- name: branch_rows
SELECT id, name, head, messages, line FROM branch WHERE story = :story AND owner = :owner ORDER BY id

-- name: branches
SELECT name, head, messages FROM branch WHERE story = :story AND owner = :owner ORDER BY id

-- name: active_branch
SELECT b.id, b.name, b.head, b.messages, b.line FROM story s JOIN branch b ON b.id = s.active
WHERE s.id = :story AND s.owner = :owner

-- name: rename_branch
UPDATE branch SET name = :name WHERE id = :branch AND owner = :owner

-- name: publish_branch
UPDATE branch SET head = :head, messages = :messages, line = :line WHERE id = :branch AND owner = :owner

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

-- name: insert_entry
INSERT INTO entry (id, owner, story, role, speaker, text, parts, witnesses, digest, match_key,
                   at, source_id, extra, hidden, replaces)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_node
INSERT INTO node (id, owner, story, parent, depth, entry, hash) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: node_at
SELECT id, hash FROM node WHERE story = :story AND parent = :parent AND entry = :entry AND owner = :owner

-- name: node_hash
SELECT hash FROM node WHERE id = :node AND owner = :owner

-- name: node_entry
SELECT entry FROM node WHERE id = :node AND story = :story AND owner = :owner

-- name: entry_digest
SELECT digest FROM entry WHERE id = :entry AND story = :story AND owner = :owner

-- name: story_tree
SELECT n.id, n.parent, n.depth, e.speaker, substr(e.text, 1, :most), e.role, e.id
FROM node n JOIN entry e ON e.id = n.entry
WHERE n.story = :story AND n.owner = :owner AND e.forgotten = 0
ORDER BY n.id

-- name: node_siblings
SELECT n.depth, n.id, n.hash, e.id, e.role, e.speaker, e.text, e.parts, e.witnesses, e.digest,
       e.at, e.source_id, e.extra, e.hidden, e.replaces
FROM node n JOIN entry e ON e.id = n.entry
WHERE n.story = :story AND n.parent = :parent AND n.owner = :owner
  AND e.forgotten = 0
  AND (NOT EXISTS (SELECT 1 FROM line l JOIN path p ON p.line = abs(l.id) AND p.depth = n.depth
                   WHERE l.story = n.story AND l.published = 0 AND p.node = n.id)
       OR EXISTS (SELECT 1 FROM path p JOIN line l ON l.id = p.line
                  WHERE p.entry = n.entry AND p.node = n.id AND l.published = 1))
ORDER BY n.id

-- name: sibling_digests
SELECT e.digest FROM node n JOIN entry e ON e.id = n.entry
WHERE n.story = :story AND n.parent = :parent AND n.owner = :owner
  AND e.forgotten = 0
  AND (NOT EXISTS (SELECT 1 FROM line l JOIN path p ON p.line = abs(l.id) AND p.depth = n.depth
                   WHERE l.story = n.story AND l.published = 0 AND p.node = n.id)
       OR EXISTS (SELECT 1 FROM path p JOIN line l ON l.id = p.line
                  WHERE p.entry = n.entry AND p.node = n.id AND l.published = 1))

-- name: set_attributes
UPDATE entry SET at = ?, source_id = ?, extra = ?, hidden = ? WHERE id = ? AND story = ? AND owner = ?

-- Moves and receipts

-- name: insert_move
INSERT INTO move (owner, story, branch, old_head, new_head, at)
VALUES (:owner, :story, :branch, :old_head, :new_head, :at)

-- name: moves
SELECT b.name, m.old_head, m.new_head, m.at FROM move m JOIN branch b ON b.id = m.branch
WHERE m.story = :story AND m.owner = :owner ORDER BY m.id

-- name: move_between
SELECT b.name, m.old_head, m.new_head, m.at FROM move m JOIN branch b ON b.id = m.branch
LEFT JOIN node o ON o.id = m.old_head AND o.owner = :owner
LEFT JOIN node n ON n.id = m.new_head AND n.owner = :owner
WHERE m.story = :story AND m.owner = :owner AND m.branch = :branch AND coalesce(n.hash, :root) = :new AND coalesce(o.hash, :root) = :old
ORDER BY m.id DESC LIMIT 1

-- name: insert_receipt
INSERT INTO receipt (owner, story, key) VALUES (:owner, :story, :key)

-- Marks

-- name: marks
SELECT id, origin, kind, position, text, made_by, at, seen, of, after, behind FROM mark
WHERE branch = :branch AND position >= :since AND retired_by = 0 AND owner = :owner ORDER BY position, behind, id

-- name: every_mark
SELECT id, origin, kind, position, text, made_by, at, seen, of, after, behind, retired_by FROM mark
WHERE branch = :branch AND position >= :since AND owner = :owner ORDER BY id

-- name: mark_on_branch
SELECT 1 FROM mark WHERE id = :mark AND branch = :branch AND retired_by = 0 AND owner = :owner

-- name: mark_of_origin
SELECT position FROM mark WHERE branch = :branch AND origin = :origin AND owner = :owner LIMIT 1

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

-- name: version_by_read
SELECT id, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, model,
       prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, firm, first_digest
FROM version
WHERE story = :story AND before = :before AND kind = :kind AND scope = :scope AND key = :key
  AND replaces = :replaces AND status NOT IN ('refused', 'by hand', 'forgotten') AND owner = :owner

-- name: versions
SELECT id, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, model,
       prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, firm, first_digest
FROM version WHERE story = :story AND owner = :owner ORDER BY id

-- name: version
SELECT id, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, model,
       prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, firm, first_digest
FROM version WHERE id = :version AND story = :story AND owner = :owner

-- name: newest_versions
SELECT id, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, model,
       prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, firm, first_digest
FROM version
WHERE story = :story AND kind = :kind AND scope = :scope AND status = :status AND reach > :beyond AND owner = :owner
ORDER BY id DESC LIMIT :most

-- name: set_status
UPDATE version SET status = :status, reason = :reason WHERE id = :version AND story = :story AND owner = :owner

-- name: loosen_version
UPDATE version SET firm = 0 WHERE id = ? AND owner = ?

-- name: loosen_cover
UPDATE cover SET firm = 0 WHERE version = ? AND owner = ?

-- name: longest_version
SELECT coalesce(max(length), 0) FROM version
WHERE story = :story AND (scope = '' OR (scope >= '0' AND scope < ':')) AND owner = :owner

-- name: links_beginning
SELECT id, length, key, kind, scope, firm FROM version
WHERE story = :story AND before = 0 AND scope = :scope AND status IN ('committed', 'provisional') AND owner = :owner
ORDER BY id

-- name: cover_span
SELECT first, last, version, scope FROM cover
WHERE line = :line AND last BETWEEN :first AND :last AND firm >= :firm AND owner = :owner

-- name: cover_going_on
SELECT c.version, c.last, c.scope FROM cover c
WHERE c.line = :line AND c.last BETWEEN :first AND :last AND c.owner = :owner
  AND c.scope < '@'
  AND EXISTS (SELECT 1 FROM version v WHERE v.story = :story AND v.before = c.version AND c.last + v.length >= :depth
              AND v.status IN ('committed', 'provisional') AND v.owner = :owner)

-- name: cover_of_version
SELECT line, last FROM cover WHERE version = :version AND owner = :owner

-- name: insert_cover
INSERT INTO cover (owner, line, kind, scope, first, last, version, firm) VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: delete_cover_from
DELETE FROM cover WHERE line = :line AND last >= :depth AND owner = :owner

-- name: delete_cover_of
DELETE FROM cover WHERE version = ? AND owner = ?

-- name: lease
SELECT holder, until FROM lease WHERE story = :story AND work = :work AND owner = :owner

-- name: give_lease
DELETE FROM lease WHERE story = :story AND work = :work AND holder = :holder AND owner = :owner

-- Views

-- name: epoch
SELECT id FROM epoch WHERE story = :story AND digest = :digest AND owner = :owner

-- Recall

-- name: recall_state
SELECT s.created_at, r.version, r.word_table, r.through, r.vectors_through, r.changes
FROM story s LEFT JOIN recall_state r ON r.story = s.id AND r.owner = s.owner
WHERE s.id = :story AND s.owner = :owner

-- name: insert_recall_state
INSERT INTO recall_state (story, owner, version, word_table, through, vectors_through, changes)
SELECT id, owner, :version, '', -1, -1, 0 FROM story WHERE id = :story AND owner = :owner

-- name: set_recall_state
UPDATE recall_state SET version = :version, word_table = :word_table, through = :through,
                        vectors_through = :vectors_through, changes = :changes
WHERE story = :story AND owner = :owner

-- name: newest_entry
SELECT coalesce(max(id), -1) FROM entry WHERE story = :story AND owner = :owner

-- name: insert_vector
INSERT INTO recall_vector (owner, story, entry, data) VALUES (?, ?, ?, ?)

-- name: insert_speaker
INSERT INTO recall_speaker (owner, story, name) VALUES (?, ?, ?) ON CONFLICT DO NOTHING

-- name: facts
SELECT block, data FROM recall_fact WHERE story = :story AND block BETWEEN :first AND :last AND owner = :owner

-- name: speakers
SELECT name FROM recall_speaker WHERE story = :story AND owner = :owner

-- name: postings_of_block
SELECT term, data FROM recall_posting WHERE story = :story AND block = :block AND owner = :owner

-- name: set_posting
UPDATE recall_posting SET data = ? WHERE story = ? AND block = ? AND term = ? AND owner = ?

-- name: set_facts
UPDATE recall_fact SET data = ? WHERE story = ? AND block = ? AND owner = ?

-- name: delete_posting
DELETE FROM recall_posting WHERE story = ? AND block = ? AND term = ? AND owner = ?

-- name: delete_postings
DELETE FROM recall_posting WHERE story = :story AND block BETWEEN :first AND :last AND owner = :owner

-- name: delete_facts
DELETE FROM recall_fact WHERE story = :story AND block BETWEEN :first AND :last AND owner = :owner

-- name: delete_vectors
DELETE FROM recall_vector WHERE story = :story AND entry BETWEEN :first AND :last AND owner = :owner

-- name: delete_vector
DELETE FROM recall_vector WHERE story = ? AND entry = ? AND owner = ?

-- name: path_ids
SELECT node, entry FROM path
WHERE line = :line AND depth BETWEEN :first AND :last AND owner = :owner ORDER BY depth

-- Checking: what is stored beside what it is derived from

-- name: check_stories
SELECT id, name, active, header, settings FROM story WHERE owner = :owner ORDER BY id

-- name: check_lines
SELECT id, parent, fork, published, begun_at FROM line WHERE story = :story AND owner = :owner ORDER BY id

-- name: check_nodes
SELECT n.id, n.parent, n.depth, n.entry, n.hash, p.depth, p.hash, p.story, e.digest, e.story
FROM node n LEFT JOIN node p ON p.id = n.parent AND p.owner = :owner
            LEFT JOIN entry e ON e.id = n.entry AND e.owner = :owner
WHERE n.story = :story AND (n.parent, n.entry) > (:parent, :entry) AND n.owner = :owner
ORDER BY n.parent, n.entry LIMIT :most

-- name: check_path
SELECT p.depth, p.node, p.entry, n.parent, n.depth, n.entry, n.story
FROM path p LEFT JOIN node n ON n.id = p.node AND n.owner = :owner
WHERE p.line = :line AND p.depth >= :first AND p.owner = :owner ORDER BY p.depth LIMIT :most

-- name: check_digests
SELECT p.node, e.digest FROM path p JOIN entry e ON e.id = p.entry
WHERE p.line = :line AND p.depth BETWEEN :first AND :last AND p.owner = :owner ORDER BY p.depth

-- name: check_versions
SELECT v.id, v.kind, v.scope, v.first, v.last, v.length, v.key, v.before, v.replaces, v.status, v.anchor, v.reach,
       v.firm, v.first_digest, v.shed, v.unverified, v.commitments, b.story, b.kind, b.scope, b.firm, b.reach, b.last,
       r.story, r.kind, r.scope, n.story, n.depth
FROM version v LEFT JOIN version b ON b.id = v.before AND b.owner = :owner
               LEFT JOIN version r ON r.id = v.replaces AND r.owner = :owner
               LEFT JOIN node n ON n.id = v.anchor AND n.owner = :owner
WHERE v.story = :story AND v.id > :after AND v.owner = :owner ORDER BY v.id LIMIT :most

-- name: check_cover
SELECT kind, scope, first, last, version, firm FROM cover WHERE line = :line AND owner = :owner ORDER BY last, version

-- name: check_marks
SELECT m.id, m.story, m.origin, m.kind, m.position, m.behind, m.after, m.retired_by, r.branch, o.story, v.story
FROM mark m LEFT JOIN mark r ON r.id = m.retired_by AND r.owner = :owner
            LEFT JOIN mark o ON o.id = m.origin AND o.owner = :owner
            LEFT JOIN version v ON v.id = m.after AND v.owner = :owner
WHERE m.branch = :branch AND m.owner = :owner ORDER BY m.id

-- name: check_moves
SELECT m.id, m.branch, b.story, m.old_head, m.new_head, o.story, n.story
FROM move m LEFT JOIN branch b ON b.id = m.branch AND b.owner = :owner
            LEFT JOIN node o ON o.id = m.old_head AND o.owner = :owner
            LEFT JOIN node n ON n.id = m.new_head AND n.owner = :owner
WHERE m.story = :story AND m.id > :after AND m.owner = :owner ORDER BY m.id LIMIT :most

-- name: check_blocks
SELECT block FROM recall_fact WHERE story = :story AND block <= :last AND owner = :owner
UNION SELECT block FROM recall_posting WHERE story = :story AND block <= :last AND owner = :owner

-- name: check_vectors
SELECT v.entry, octet_length(v.data)
FROM recall_vector v LEFT JOIN entry e ON e.id = v.entry AND e.story = v.story AND e.forgotten = 0 AND e.owner = :owner
WHERE v.story = :story AND v.entry <= :last AND v.owner = :owner AND (e.id IS NULL OR octet_length(v.data) <> :size)

-- name: count_receipts
SELECT count(*) FROM receipt WHERE story = :story AND owner = :owner

-- name: count_leases
SELECT count(*) FROM lease WHERE story = :story AND owner = :owner

-- Taking away what no story needs

-- name: branch_without_line
SELECT 1 FROM branch b LEFT JOIN line l ON l.id = b.line AND l.story = b.story
WHERE b.story = :story AND b.owner = :owner AND l.id IS NULL LIMIT 1

-- name: set_line_aside
UPDATE line SET id = -id, parent = NULL WHERE id = :line AND story = :story AND owner = :owner

-- name: delete_line
DELETE FROM line WHERE id = :line AND story = :story AND owner = :owner

-- name: count_path
SELECT count(*) FROM path WHERE line = :line AND depth >= :depth AND owner = :owner

-- name: last_depth
SELECT coalesce(max(depth), -1) FROM path WHERE line = :line AND owner = :owner

-- name: count_cover
SELECT count(*) FROM cover WHERE line = :line AND last >= :depth AND owner = :owner

-- name: end_of_line
SELECT p.depth, p.node, p.entry, n.parent,
       (SELECT count(*) FROM node c WHERE c.story = :story AND c.parent = p.node AND c.owner = :owner),
       EXISTS (SELECT 1 FROM path o WHERE o.entry = p.entry AND o.node = p.node AND o.line <> p.line
               AND o.owner = :owner)
FROM path p LEFT JOIN node n ON n.id = p.node AND n.owner = :owner
WHERE p.line = :line AND p.depth < :below AND p.owner = :owner ORDER BY p.depth DESC LIMIT :most

-- name: nodes_after
SELECT n.id, n.entry,
       EXISTS (SELECT 1 FROM node c WHERE c.story = :story AND c.parent = n.id AND c.owner = :owner),
       EXISTS (SELECT 1 FROM path o WHERE o.entry = n.entry AND o.node = n.id AND o.owner = :owner)
FROM node n WHERE n.story = :story AND n.parent = :parent AND n.owner = :owner

-- name: entries_of_nodes
SELECT parent, entry, id FROM node
WHERE story = :story AND (parent, entry) > (:parent, :entry) AND owner = :owner ORDER BY parent, entry LIMIT :most

-- name: moves_after
SELECT id, old_head, new_head FROM move WHERE story = :story AND id > :after AND owner = :owner
ORDER BY id LIMIT :most

-- name: anchors_after
SELECT id, anchor, status FROM version WHERE story = :story AND id > :after AND owner = :owner ORDER BY id LIMIT :most

-- name: delete_node
DELETE FROM node WHERE id = ? AND story = ? AND owner = ?

-- name: delete_entry
DELETE FROM entry WHERE id = ? AND story = ? AND owner = ?

-- name: count_old_leases
SELECT count(*) FROM lease WHERE until <= :before AND owner = :owner

-- name: delete_old_leases
DELETE FROM lease WHERE until <= :before AND owner = :owner

-- Forgetting

-- name: rewordings
SELECT id, replaces FROM entry WHERE story = :story AND replaces IS NOT NULL AND owner = :owner

-- name: entries_saying
SELECT id FROM entry WHERE story = :story AND digest = :digest AND forgotten = 0 AND owner = :owner

-- name: story_begun
SELECT created_at FROM story WHERE owner = :owner AND name = :name

-- name: stories_begun
SELECT id, name FROM story WHERE owner = :owner AND created_at = :at ORDER BY name

-- name: forget_entry
UPDATE entry SET speaker = NULL, text = '', parts = NULL, witnesses = NULL, digest = ?, match_key = ?, at = NULL,
                 source_id = NULL, extra = NULL, hidden = 1, forgotten = 1
WHERE id = ? AND owner = ?

-- name: entry_role
SELECT role FROM entry WHERE id = :entry AND story = :story AND owner = :owner

-- name: set_node_hash
UPDATE node SET hash = ? WHERE id = ? AND owner = ?

-- name: version_anchors
SELECT id, anchor, status FROM version WHERE story = :story AND owner = :owner AND status <> 'forgotten'

-- name: continuations
SELECT DISTINCT story, text FROM mark WHERE kind = 'continues' AND owner = :owner

-- name: delete_story_cover
DELETE FROM cover WHERE line IN (SELECT abs(id) FROM line WHERE story = :story AND owner = :owner) AND owner = :owner

-- name: delete_story_path
DELETE FROM path WHERE line IN (SELECT abs(id) FROM line WHERE story = :story AND owner = :owner) AND owner = :owner

-- name: delete_story_line
DELETE FROM line WHERE story = :story AND owner = :owner

-- name: delete_story_node
DELETE FROM node WHERE story = :story AND owner = :owner

-- name: delete_story_entry
DELETE FROM entry WHERE story = :story AND owner = :owner

-- name: delete_story_version
DELETE FROM version WHERE story = :story AND owner = :owner

-- name: delete_story_mark
DELETE FROM mark WHERE story = :story AND owner = :owner

-- name: delete_story_move
DELETE FROM move WHERE story = :story AND owner = :owner

-- name: delete_story_receipt
DELETE FROM receipt WHERE story = :story AND owner = :owner

-- name: delete_story_lease
DELETE FROM lease WHERE story = :story AND owner = :owner

-- name: delete_story_epoch
DELETE FROM epoch WHERE story = :story AND owner = :owner

-- name: delete_story_recipe
DELETE FROM recipe WHERE story = :story AND owner = :owner

-- name: delete_story_answer
DELETE FROM answer WHERE story = :story AND owner = :owner

-- name: delete_story_recall_state
DELETE FROM recall_state WHERE story = :story AND owner = :owner

-- name: delete_story_recall_posting
DELETE FROM recall_posting WHERE story = :story AND owner = :owner

-- name: delete_story_recall_fact
DELETE FROM recall_fact WHERE story = :story AND owner = :owner

-- name: delete_story_recall_vector
DELETE FROM recall_vector WHERE story = :story AND owner = :owner

-- name: delete_story_recall_speaker
DELETE FROM recall_speaker WHERE story = :story AND owner = :owner

-- name: delete_story_story_book
DELETE FROM story_book WHERE story = :story AND owner = :owner

-- name: delete_story_branch
DELETE FROM branch WHERE story = :story AND owner = :owner

-- name: delete_story
DELETE FROM story WHERE id = :story AND owner = :owner
