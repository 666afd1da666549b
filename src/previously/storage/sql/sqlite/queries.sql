-- Stories

-- name: story_named
SELECT s.id, s.name, s.budget_tokens, b.name, b.head, b.messages,
       (SELECT count(*) FROM branch WHERE story = s.id)
FROM story s JOIN branch b ON b.id = s.active
WHERE s.owner = :owner AND s.name = :name

-- name: story_stamps
SELECT s.id, s.name, b.name, b.head, b.messages,
       (SELECT coalesce(max(m.id), 0) FROM move m WHERE m.story = s.id),
       (SELECT coalesce(max(v.id), 0) FROM version v WHERE v.story = s.id AND v.kind <> 'question'),
       (SELECT coalesce(max(k.id), 0) FROM mark k WHERE k.story = s.id),
       (SELECT coalesce(sum(k.retired_by), 0) FROM mark k WHERE k.story = s.id),
       (SELECT count(*) FROM story_book a WHERE a.story = s.id), s.settings
FROM story s JOIN branch b ON b.id = s.active
WHERE s.owner = :owner ORDER BY s.name

-- name: story_stamp
SELECT s.id, s.name, b.name, b.head, b.messages,
       (SELECT coalesce(max(m.id), 0) FROM move m WHERE m.story = s.id),
       (SELECT coalesce(max(v.id), 0) FROM version v WHERE v.story = s.id AND v.kind <> 'question'),
       (SELECT coalesce(max(k.id), 0) FROM mark k WHERE k.story = s.id),
       (SELECT coalesce(sum(k.retired_by), 0) FROM mark k WHERE k.story = s.id),
       (SELECT count(*) FROM story_book a WHERE a.story = s.id), s.settings
FROM story s JOIN branch b ON b.id = s.active
WHERE s.id = :story AND s.owner = :owner

-- name: stories_known_by
SELECT name, header FROM story WHERE owner = :owner AND instr(header, :part) > 0 ORDER BY id

-- name: insert_story
INSERT INTO story (owner, name, active, created_at) VALUES (:owner, :name, 0, :at)

-- name: note_copy
INSERT INTO backup (owner, path, at, stories)
SELECT s.owner, :path, strftime('%Y-%m-%dT%H:%M:%f', 'now') || '+00:00',
       json_group_array(json_object('story', s.name, 'messages', b.messages, 'digest', ''))
FROM story s JOIN branch b ON b.id = s.active GROUP BY s.owner

-- Books: of an owner, attached to stories

-- name: book
SELECT name, body, at FROM book WHERE owner = :owner AND name = :name

-- name: hold_book
SELECT body FROM book WHERE owner = :owner AND name = :name

-- name: keep_book
INSERT INTO book (owner, name, body, at) VALUES (:owner, :name, :body, :at)
ON CONFLICT (owner, name) DO UPDATE SET body = excluded.body, at = excluded.at

-- name: add_book
INSERT INTO book (owner, name, body, at) VALUES (:owner, :name, :body, :at)
ON CONFLICT (owner, name) DO NOTHING

-- name: delete_book
DELETE FROM book WHERE owner = :owner AND name = :name

-- name: attach_book
INSERT INTO story_book (owner, story, name, position)
SELECT :owner, :story, :name, coalesce(max(position) + 1, 0) FROM story_book
WHERE story = :story AND owner = :owner
ON CONFLICT (story, name) DO NOTHING

-- name: book_attached
SELECT 1 FROM story_book WHERE story = :story AND name = :name AND owner = :owner

-- name: detach_book
DELETE FROM story_book WHERE story = :story AND name = :name AND owner = :owner

-- name: book_attached_to
SELECT story FROM story_book WHERE owner = :owner AND name = :name

-- name: detach_book_everywhere
DELETE FROM story_book WHERE owner = :owner AND name = :name

-- name: check_attached
SELECT a.name, a.position, b.owner FROM story_book a LEFT JOIN book b ON b.owner = a.owner AND b.name = a.name
WHERE a.story = :story AND a.owner = :owner ORDER BY a.position

-- Answers of models, and what is known of them

-- name: keep_answer
INSERT OR REPLACE INTO answer (owner, request, story, text, model, at)
VALUES (:owner, :request, :story, :text, :model, :at)

-- name: model_fact
SELECT fact FROM model_fact WHERE owner = :owner AND model = :model

-- name: set_model_fact
INSERT OR REPLACE INTO model_fact (owner, model, fact, at) VALUES (:owner, :model, :fact, :at)

-- Branches and lines

-- name: branch_named
SELECT id, name, head, messages, line FROM branch WHERE story = :story AND owner = :owner AND name = :name

-- name: insert_branch
INSERT INTO branch (owner, story, name, head, messages, line, created_at)
VALUES (:owner, :story, :name, :head, :messages, :line, :at)

-- name: insert_line
INSERT INTO line (owner, story, parent, fork, published, begun_at) VALUES (:owner, :story, :parent, :fork, :published, :begun_at)

-- Entries and nodes

-- name: last_entry_id
SELECT coalesce(max(id), 0) FROM entry

-- name: last_node_id
SELECT coalesce(max(id), 0) FROM node

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

-- Moves and receipts

-- name: receipt
SELECT 1 FROM receipt WHERE story = :story AND key = :key AND owner = :owner

-- Marks

-- name: marks_of_kinds
SELECT id, origin, kind, position, text, made_by, at, seen, of, after, behind FROM mark INDEXED BY mark_by_kind
WHERE branch = :branch AND kind IN (SELECT value FROM json_each(:kinds)) AND position >= :since AND retired_by = 0
  AND owner = :owner
ORDER BY position, behind, id

-- name: newest_mark
SELECT id, origin, kind, position, text, made_by, at, seen, of, after, behind FROM mark INDEXED BY mark_by_kind
WHERE branch = :branch AND kind = :kind AND retired_by = 0 AND owner = :owner
ORDER BY position DESC, behind DESC, id DESC LIMIT 1 OFFSET :number

-- name: count_marks
SELECT count(DISTINCT position) FROM mark INDEXED BY mark_by_kind
WHERE branch = :branch AND kind = :kind AND position BETWEEN 0 AND :through AND retired_by = 0 AND owner = :owner

-- name: insert_mark
INSERT INTO mark (owner, story, branch, origin, kind, position, text, made_by, at, seen, of, after, behind,
                  retired_by)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- Versions and cover. INDEXED BY where SQLite, without statistics, would rather read all kinds in path order.

-- name: insert_version
INSERT INTO version (owner, story, kind, scope, first, last, length, key, before, replaces, text, carry, status, made_by,
                     reason, at, model, prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach,
                     commitments, firm, first_digest)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: notes
SELECT id, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, model,
       prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, firm, first_digest
FROM version INDEXED BY version_by_first
WHERE story = :story AND kind = :kind AND scope = :scope
  AND first_digest IN (SELECT unhex(value) FROM json_each(:firsts))
  AND first_digest <> x'' AND status IN ('committed', 'provisional') AND owner = :owner
ORDER BY id

-- name: built_on
WITH RECURSIVE built (id) AS (
    SELECT id FROM version WHERE id = :version AND story = :story AND owner = :owner
    UNION
    SELECT v.id FROM built CROSS JOIN version v ON v.story = :story AND v.before = built.id AND v.owner = :owner
)
SELECT id FROM built ORDER BY id

-- name: links_after
SELECT id, length, key, kind, scope, firm FROM version INDEXED BY version_by_before
WHERE story = :story AND before = :before AND status IN ('committed', 'provisional') AND owner = :owner
ORDER BY id

-- name: own_links
SELECT DISTINCT before, first, scope FROM version INDEXED BY version_own
WHERE story = :story AND scope >= '@' AND scope < 'A' AND last >= :depth AND last < :length AND first <= :depth
  AND status IN ('committed', 'provisional') AND owner = :owner

-- name: cover_of_kind
SELECT first, last, version, scope FROM cover INDEXED BY cover_by_kind
WHERE line = :line AND kind = :kind AND last BETWEEN :first AND :last AND firm >= :firm AND owner = :owner

-- name: inherit_cover
INSERT OR IGNORE INTO cover (owner, line, kind, scope, first, last, version, firm)
SELECT owner, :to_line, kind, scope, first, last, version, firm FROM cover
WHERE line = :from_line AND last <= :last AND owner = :owner

-- name: furthest_live
SELECT a.value ->> 2, c.first, c.last, v.id, v.kind, v.scope, v.first, v.last, v.key, v.before, v.replaces, v.text, v.carry, v.status,
       v.made_by, v.reason, v.at, v.model, v.prompt_hash, v.calls, v.input_tokens, v.output_tokens, v.shed, v.unverified,
       v.anchor, v.reach, v.commitments, v.firm, v.first_digest
FROM json_each(:asked) a
CROSS JOIN cover c ON c.line = :line AND (c.last, c.version) = (
    SELECT last, version FROM cover INDEXED BY cover_by_kind
    WHERE line = :line AND kind = :kind AND scope = a.value ->> 0 AND last <= min(a.value ->> 1, :last)
      AND firm >= :firm AND owner = :owner
    ORDER BY last DESC, version DESC LIMIT 1)
CROSS JOIN version v ON v.id = c.version
WHERE a.value ->> 3 = 0 OR EXISTS (SELECT 1 FROM mark WHERE branch = :branch AND origin = a.value ->> 3
                                   AND retired_by = 0 AND owner = :owner)

-- name: spent
SELECT coalesce(sum(calls), 0), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0)
FROM version WHERE owner = :owner AND at >= :since AND calls > 0

-- name: spent_by_story
SELECT story, count(CASE WHEN kind <> 'question' THEN 1 END), coalesce(sum(CASE WHEN calls > 0 THEN calls END), 0),
       coalesce(sum(CASE WHEN calls > 0 THEN input_tokens END), 0),
       coalesce(sum(CASE WHEN calls > 0 THEN output_tokens END), 0)
FROM version WHERE owner = :owner GROUP BY story

-- name: take_lease
INSERT INTO lease (owner, story, work, holder, until) VALUES (:owner, :story, :work, :holder, :until)
ON CONFLICT (story, work) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE lease.holder = excluded.holder OR lease.until <= :now

-- Views

-- name: insert_epoch
INSERT INTO epoch (owner, story, digest, text) VALUES (:owner, :story, :digest, :text)

-- name: insert_recipe
INSERT INTO recipe (owner, story, reader, asked, node, position, before_tail, epoch, body, at)
VALUES (:owner, :story, :reader, :asked, :node, :position, :before_tail, :epoch, :body, :at)

-- name: recipes
SELECT r.reader, r.asked, r.node, r.position, r.before_tail, e.text, r.body, r.at
FROM recipe r JOIN epoch e ON e.id = r.epoch
WHERE r.story = :story AND r.reader = :reader AND r.position BETWEEN :first AND :last AND r.owner = :owner AND r.asked = :asked
ORDER BY r.position DESC, r.id DESC LIMIT :most

-- name: recipes_of_reader
SELECT r.reader, r.asked, r.node, r.position, r.before_tail, e.text, r.body, r.at
FROM recipe r JOIN epoch e ON e.id = r.epoch
WHERE r.story = :story AND r.reader = :reader AND r.position BETWEEN :first AND :last AND r.owner = :owner
ORDER BY r.position DESC, r.id DESC LIMIT :most

-- name: witnessed_entry
SELECT 1 FROM entry INDEXED BY entry_witnessed WHERE story = :story AND witnesses IS NOT NULL AND owner = :owner LIMIT 1

-- Recall

-- name: entries_to_index
SELECT id, role, speaker, text, parts, witnesses, digest, at, source_id, extra, hidden, replaces
FROM entry INDEXED BY entry_by_story
WHERE story = :story AND id > :after AND forgotten = 0 AND owner = :owner ORDER BY id LIMIT :most

-- name: count_to_index
SELECT count(*) FROM (SELECT 1 FROM entry INDEXED BY entry_by_story
                      WHERE story = :story AND id > :after AND forgotten = 0 AND owner = :owner LIMIT :most)

-- name: append_posting
INSERT INTO recall_posting (owner, story, block, term, data) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (story, block, term) DO UPDATE SET data = CAST(data || excluded.data AS BLOB) WHERE owner = excluded.owner

-- name: append_facts
INSERT INTO recall_fact (owner, story, block, data) VALUES (?, ?, ?, ?)
ON CONFLICT (story, block) DO UPDATE SET data = CAST(data || excluded.data AS BLOB) WHERE owner = excluded.owner

-- name: postings
SELECT p.term, p.block, p.data
FROM recall_fact f CROSS JOIN json_each(:terms) t
CROSS JOIN recall_posting p ON p.story = f.story AND p.block = f.block AND p.term = t.value AND p.owner = :owner
WHERE f.story = :story AND f.block BETWEEN :first AND :last AND f.owner = :owner

-- name: vectors
SELECT entry, data FROM recall_vector
WHERE story = :story AND entry IN (SELECT value FROM json_each(:entries)) AND entry <= :last AND owner = :owner

-- name: delete_silent_speakers
DELETE FROM recall_speaker WHERE story = :story AND owner = :owner
  AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.story = :story AND e.id <= :through AND e.speaker = recall_speaker.name
                  AND e.owner = :owner)

-- Checking: what is stored beside what it is derived from

-- name: check_entries
SELECT e.id, e.role, e.speaker, e.text, e.parts, e.witnesses, e.digest, e.at, e.source_id, e.extra, e.hidden,
       e.replaces, e.match_key, r.story
FROM entry e LEFT JOIN entry r ON r.id = e.replaces AND r.owner = :owner
WHERE e.id IN (SELECT value FROM json_each(:ids)) AND +e.story = :story AND e.owner = :owner

-- name: check_run
WITH RECURSIVE up (parent, entry, number) AS (
    SELECT parent, entry, 1 FROM node WHERE id = :node AND story = :story AND owner = :owner
    UNION ALL
    SELECT n.parent, n.entry, up.number + 1 FROM up JOIN node n ON n.id = up.parent AND n.owner = :owner
    WHERE up.number < :most
)
SELECT e.digest FROM up JOIN entry e ON e.id = up.entry ORDER BY up.number DESC

-- name: silent_speakers
SELECT s.name FROM recall_speaker s WHERE s.story = :story AND s.owner = :owner
  AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.story = :story AND e.speaker = s.name AND e.owner = :owner)
ORDER BY s.name

-- name: check_strays
SELECT t.what, t.row, t.story, CASE WHEN s.id IS NULL THEN 0 ELSE t.branch END
FROM (
    SELECT 'branch' AS what, name AS row, story, 0 AS branch FROM branch WHERE owner = :owner
    UNION ALL SELECT 'line', id, story, 0 FROM line WHERE owner = :owner
    UNION ALL SELECT 'version', id, story, 0 FROM version WHERE owner = :owner
    UNION ALL SELECT 'mark', id, story, branch FROM mark WHERE owner = :owner
    UNION ALL SELECT 'move', id, story, 0 FROM move WHERE owner = :owner
    UNION ALL SELECT 'receipt', key, story, 0 FROM receipt WHERE owner = :owner
    UNION ALL SELECT 'lease', work, story, 0 FROM lease WHERE owner = :owner
    UNION ALL SELECT 'attached book', name, story, 0 FROM story_book WHERE owner = :owner
    UNION ALL SELECT 'index', story, story, 0 FROM recall_state WHERE owner = :owner
    UNION ALL SELECT DISTINCT 'postings', story, story, 0 FROM recall_posting WHERE owner = :owner
    UNION ALL SELECT DISTINCT 'facts', story, story, 0 FROM recall_fact WHERE owner = :owner
    UNION ALL SELECT DISTINCT 'vectors', story, story, 0 FROM recall_vector WHERE owner = :owner
    UNION ALL SELECT DISTINCT 'speakers', story, story, 0 FROM recall_speaker WHERE owner = :owner
    UNION ALL SELECT DISTINCT 'answers', story, story, 0 FROM answer WHERE owner = :owner
) t LEFT JOIN story s ON s.id = t.story AND s.owner = :owner
    LEFT JOIN branch b ON b.id = t.branch AND b.owner = :owner
WHERE s.id IS NULL OR (t.branch <> 0 AND b.id IS NULL) LIMIT :most

-- Forgetting

-- name: nodes_with_hash
SELECT entry FROM node WHERE story = :story AND owner = :owner AND hash IN (SELECT unhex(value) FROM json_each(:hashes))

-- name: nodes_from
WITH RECURSIVE below (id) AS (
    SELECT id FROM node WHERE story = :story AND owner = :owner AND entry IN (SELECT value FROM json_each(:entries))
    UNION
    SELECT n.id FROM below CROSS JOIN node n ON n.story = :story AND n.parent = below.id AND n.owner = :owner
)
SELECT n.id, n.parent, p.hash, e.digest, n.entry, n.hash
FROM below JOIN node n ON n.id = below.id JOIN entry e ON e.id = n.entry LEFT JOIN node p ON p.id = n.parent
ORDER BY n.depth

-- name: forget_version
UPDATE version SET status = 'forgotten', text = '', carry = '', reason = '', key = x'', shed = '[]', unverified = '[]',
                   commitments = '[]', first_digest = x''
WHERE id = ? AND owner = ?

-- name: forget_key
UPDATE version SET key = x'', first_digest = x'' WHERE id = ? AND owner = ?

-- Recognition

-- name: stories_holding
SELECT DISTINCT e.story, s.name, e.match_key
FROM entry e JOIN story s ON s.id = e.story AND s.owner = e.owner
WHERE e.owner = :owner AND e.match_key IN (SELECT unhex(value) FROM json_each(:keys))
LIMIT :most
