-- The same queries under the same names as on SQLite. What row-level security asks of every row, that it is of the
-- owner in `previously.owner`, each query asks by itself as well.

-- Sessions. Whoever opened the connection, the work is done by a role that owns nothing. Waiting longer for another
-- writer of a story than the import of a million messages takes means that something hangs. Every query has its index;
-- without statistics the planner would at times rather read a whole table, and nothing is gained by planning a query
-- anew for each value. An acknowledged write is on disk whatever the server's default is.

-- name: settings_of_a_session
SET ROLE previously_app;
SET search_path TO previously, pg_temp;
SET lock_timeout TO '2min';
SET idle_in_transaction_session_timeout TO '5min';
SET jit TO off;
SET enable_seqscan TO off;
SET enable_hashjoin TO off;
SET enable_mergejoin TO off;
SET plan_cache_mode TO force_generic_plan;
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'

-- Transactions: each says first whose stories it is about. One that writes waits for others on the same story, and says
-- in the row of its writer which change it is, so that the row is locked until the change is kept or not.

-- name: begin_reading
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT set_config('previously.owner', %(owner)s, true)

-- name: begin_writing
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT set_config('previously.owner', %(owner)s, true);
SELECT id FROM story WHERE id = %(story)s AND owner = %(owner)s FOR NO KEY UPDATE;
INSERT INTO last_change (writer, token) VALUES (%(writer)s, %(token)s)
ON CONFLICT (writer) DO UPDATE SET token = excluded.token, at = excluded.at

-- name: begin_creating
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT set_config('previously.owner', %(owner)s, true);
SELECT pg_advisory_xact_lock(hashtextextended(%(name)s, hashtextextended(%(owner)s, 0)));
INSERT INTO last_change (writer, token) VALUES (%(writer)s, %(token)s)
ON CONFLICT (writer) DO UPDATE SET token = excluded.token, at = excluded.at

-- As the login, not as the role that serves people, until the transaction ends. A login that is a superuser is not held
-- to row-level security: there the owner that each query asks for is the only wall. Rows are read piece by piece, which
-- the planner without statistics would rather not do.
-- name: begin_destroying
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT set_config('previously.owner', %(owner)s, true);
SELECT id FROM story WHERE id = %(story)s AND owner = %(owner)s FOR NO KEY UPDATE;
INSERT INTO last_change (writer, token) VALUES (%(writer)s, %(token)s)
ON CONFLICT (writer) DO UPDATE SET token = excluded.token, at = excluded.at;
SET LOCAL ROLE NONE;
SET LOCAL enable_bitmapscan TO off

-- name: may_destroy
SELECT bool_and(has_table_privilege(c.oid, 'DELETE')) AND bool_and(has_schema_privilege(c.relnamespace, 'USAGE'))
FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
WHERE s.nspname = 'previously' AND c.relname IN ('story', 'entry', 'node', 'line', 'version', 'book')

-- Changes nothing, and waits for the writer's transaction if it is still under way.
-- name: last_change
INSERT INTO last_change (writer, token) VALUES (%(writer)s, '')
ON CONFLICT (writer) DO UPDATE SET token = last_change.token RETURNING token

-- name: forget_old_writers
DELETE FROM last_change WHERE writer IN (
    SELECT writer FROM last_change WHERE at < now() - interval '1 day' FOR UPDATE SKIP LOCKED
)

-- Stories

-- name: stories
SELECT s.id, s.name, s.budget_tokens, b.name, b.head, b.messages,
       (SELECT count(*) FROM branch WHERE story = s.id)
FROM story s JOIN branch b ON b.id = s.active
WHERE s.owner = %(owner)s ORDER BY s.name

-- name: story_named
SELECT s.id, s.name, s.budget_tokens, b.name, b.head, b.messages,
       (SELECT count(*) FROM branch WHERE story = s.id)
FROM story s JOIN branch b ON b.id = s.active
WHERE s.owner = %(owner)s AND s.name_hash = md5(%(name)s::text) AND s.name = %(name)s

-- name: last_changes
SELECT s.id, (SELECT m.at FROM move m WHERE m.story = s.id ORDER BY m.id DESC LIMIT 1)
FROM story s WHERE s.owner = %(owner)s

-- name: insert_story
INSERT INTO story (owner, name, active, created_at) VALUES (%(owner)s, %(name)s, 0, %(at)s) RETURNING id

-- name: set_active
UPDATE story SET active = %(branch)s WHERE id = %(story)s AND owner = %(owner)s

-- name: header
SELECT header FROM story WHERE id = %(story)s AND owner = %(owner)s

-- name: set_header
UPDATE story SET header = %(header)s WHERE id = %(story)s AND owner = %(owner)s

-- name: settings
SELECT settings FROM story WHERE id = %(story)s AND owner = %(owner)s

-- name: set_settings
UPDATE story SET settings = %(settings)s WHERE id = %(story)s AND owner = %(owner)s

-- name: usage
SELECT coalesce(usage, '{}') FROM story WHERE id = %(story)s AND owner = %(owner)s

-- name: set_usage
UPDATE story SET usage = %(usage)s WHERE id = %(story)s AND owner = %(owner)s

-- name: set_budget_tokens
UPDATE story SET budget_tokens = %(budget_tokens)s WHERE id = %(story)s AND owner = %(owner)s

-- name: rename_story
UPDATE story SET name = %(name)s WHERE id = %(story)s AND owner = %(owner)s

-- name: backups
SELECT path, at, stories FROM backup WHERE owner = %(owner)s ORDER BY at

-- name: update_backup
UPDATE backup SET stories = %(stories)s WHERE owner = %(owner)s AND path = %(path)s AND at = %(at)s

-- name: insert_backup
INSERT INTO backup (owner, path, at, stories) VALUES (%(owner)s, %(path)s, %(at)s, %(stories)s)

-- Keys: those of everybody, asked for in the name of nobody

-- name: access_keys
SELECT name, owner, hash, ending, at FROM access_key ORDER BY name

-- name: access_key_named
SELECT name, owner, hash, ending, at FROM access_key WHERE name = %(name)s

-- name: owner_of_access_key
SELECT owner FROM access_key WHERE hash = %(hash)s

-- name: insert_access_key
INSERT INTO access_key (name, owner, hash, ending, at) VALUES (%(name)s, %(owner)s, %(hash)s, %(ending)s, %(at)s)
ON CONFLICT (name) DO NOTHING

-- name: delete_access_key
DELETE FROM access_key WHERE name = %(name)s AND owner = %(owner)s

-- Books: of an owner, attached to stories

-- name: books
SELECT name, at, octet_length(body) FROM book WHERE owner = %(owner)s ORDER BY name

-- name: book
SELECT name, body, at FROM book WHERE owner = %(owner)s AND name_hash = md5(%(name)s::text) AND name = %(name)s

-- name: hold_book
SELECT body FROM book WHERE owner = %(owner)s AND name_hash = md5(%(name)s::text) AND name = %(name)s FOR SHARE

-- name: keep_book
INSERT INTO book (owner, name, body, at) VALUES (%(owner)s, %(name)s, %(body)s, %(at)s)
ON CONFLICT (owner, name_hash) DO UPDATE SET body = excluded.body, at = excluded.at

-- name: add_book
INSERT INTO book (owner, name, body, at) VALUES (%(owner)s, %(name)s, %(body)s, %(at)s)
ON CONFLICT (owner, name_hash) DO NOTHING

-- name: delete_book
DELETE FROM book WHERE owner = %(owner)s AND name_hash = md5(%(name)s::text) AND name = %(name)s

-- name: attached_books
SELECT name FROM story_book WHERE story = %(story)s AND owner = %(owner)s ORDER BY position

-- name: attach_book
INSERT INTO story_book (owner, story, name, position)
SELECT %(owner)s, %(story)s, %(name)s, coalesce(max(position) + 1, 0) FROM story_book
WHERE story = %(story)s AND owner = %(owner)s
ON CONFLICT (story, name_hash) DO NOTHING

-- name: book_attached
SELECT 1 FROM story_book WHERE story = %(story)s AND name_hash = md5(%(name)s::text) AND name = %(name)s AND owner = %(owner)s

-- name: detach_book
DELETE FROM story_book WHERE story = %(story)s AND name_hash = md5(%(name)s::text) AND name = %(name)s AND owner = %(owner)s

-- name: detach_book_everywhere
DELETE FROM story_book WHERE owner = %(owner)s AND name_hash = md5(%(name)s::text) AND name = %(name)s

-- name: check_attached
SELECT a.name, a.position, b.owner FROM story_book a LEFT JOIN book b ON b.owner = a.owner AND b.name_hash = a.name_hash AND b.name = a.name
WHERE a.story = %(story)s AND a.owner = %(owner)s ORDER BY a.position

-- Answers of models, and what is known of them

-- name: answer
SELECT text FROM answer WHERE owner = %(owner)s AND request = %(request)s

-- name: keep_answer
INSERT INTO answer (owner, request, story, text, model, at)
VALUES (%(owner)s, %(request)s, %(story)s, %(text)s, %(model)s, %(at)s)
ON CONFLICT (owner, request) DO UPDATE
SET id = excluded.id, story = excluded.story, text = excluded.text, model = excluded.model, at = excluded.at

-- name: drop_answers
DELETE FROM answer WHERE owner = %(owner)s
  AND id <= (SELECT id FROM answer WHERE owner = %(owner)s ORDER BY id DESC LIMIT 1 OFFSET %(most)s)

-- name: model_fact
SELECT fact FROM model_fact WHERE owner = %(owner)s AND model_hash = md5(%(model)s::text) AND model = %(model)s

-- name: set_model_fact
INSERT INTO model_fact (owner, model, fact, at) VALUES (%(owner)s, %(model)s, %(fact)s, %(at)s)
ON CONFLICT (owner, model_hash) DO UPDATE SET id = excluded.id, fact = excluded.fact, at = excluded.at

-- name: drop_model_facts
DELETE FROM model_fact WHERE owner = %(owner)s
  AND id <= (SELECT id FROM model_fact WHERE owner = %(owner)s ORDER BY id DESC LIMIT 1 OFFSET %(most)s)

-- Branches and lines

-- name: branch_rows
SELECT id, name, head, messages, line FROM branch WHERE story = %(story)s AND owner = %(owner)s ORDER BY id

-- name: branches
SELECT name, head, messages FROM branch WHERE story = %(story)s AND owner = %(owner)s ORDER BY id

-- name: active_branch
SELECT b.id, b.name, b.head, b.messages, b.line FROM story s JOIN branch b ON b.id = s.active
WHERE s.id = %(story)s AND s.owner = %(owner)s

-- name: branch_named
SELECT id, name, head, messages, line FROM branch
WHERE story = %(story)s AND owner = %(owner)s AND name_hash = md5(%(name)s::text) AND name = %(name)s

-- name: insert_branch
INSERT INTO branch (owner, story, name, head, messages, line, created_at)
VALUES (%(owner)s, %(story)s, %(name)s, %(head)s, %(messages)s, %(line)s, %(at)s) RETURNING id

-- name: publish_branch
UPDATE branch SET head = %(head)s, messages = %(messages)s, line = %(line)s WHERE id = %(branch)s AND owner = %(owner)s

-- name: insert_line
INSERT INTO line (owner, story, parent, fork, published, begun_at)
VALUES (%(owner)s, %(story)s, %(parent)s, %(fork)s, %(published)s, %(begun_at)s) RETURNING id

-- name: publish_line
UPDATE line SET published = 1 WHERE id = %(line)s AND owner = %(owner)s

-- name: line
SELECT parent, fork FROM line WHERE id = %(line)s AND owner = %(owner)s

-- name: lines_of_story
SELECT id, parent, fork FROM line WHERE story = %(story)s AND owner = %(owner)s

-- name: line_serves_another
SELECT 1 FROM line WHERE parent = %(line)s AND fork > %(depth)s AND owner = %(owner)s LIMIT 1

-- Paths

-- name: path_span
SELECT p.depth, p.node, n.hash, e.id, e.role, e.speaker, e.text, e.parts, e.witnesses, e.digest,
       e.at, e.source_id, e.extra, e.hidden, e.replaces
FROM path p JOIN node n ON n.id = p.node JOIN entry e ON e.id = p.entry
WHERE p.line = %(line)s AND p.depth BETWEEN %(first)s AND %(last)s AND p.owner = %(owner)s ORDER BY p.depth

-- name: path_known
SELECT e.id, e.digest, e.match_key, e.role, e.at, e.source_id, e.extra, e.hidden
FROM path p JOIN entry e ON e.id = p.entry
WHERE p.line = %(line)s AND p.depth BETWEEN %(first)s AND %(last)s AND p.owner = %(owner)s ORDER BY p.depth

-- name: path_digests
SELECT e.id, e.digest
FROM path p JOIN entry e ON e.id = p.entry
WHERE p.line = %(line)s AND p.depth BETWEEN %(first)s AND %(last)s AND p.owner = %(owner)s ORDER BY p.depth

-- name: path_node
SELECT p.node, n.hash, n.parent FROM path p JOIN node n ON n.id = p.node
WHERE p.line = %(line)s AND p.depth = %(depth)s AND p.owner = %(owner)s

-- name: last_place
SELECT max(depth) FROM path
WHERE entry = %(entry)s AND line = %(line)s AND depth BETWEEN %(first)s AND %(last)s AND owner = %(owner)s

-- name: insert_path
INSERT INTO path (owner, line, depth, node, entry) VALUES (%s, %s, %s, %s, %s)

-- name: delete_path_from
DELETE FROM path WHERE line = %(line)s AND depth >= %(depth)s AND owner = %(owner)s

-- Entries and nodes

-- name: reserve_entry
SELECT nextval('entry_ids') FROM generate_series(1, %(count)s)

-- name: reserve_node
SELECT nextval('node_ids') FROM generate_series(1, %(count)s)

-- name: insert_entry
INSERT INTO entry (id, owner, story, role, speaker, text, parts, witnesses, digest, match_key,
                   at, source_id, extra, hidden, replaces)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)

-- name: insert_node
INSERT INTO node (id, owner, story, parent, depth, entry, hash) VALUES (%s, %s, %s, %s, %s, %s, %s)

-- name: node_at
SELECT id, hash FROM node WHERE story = %(story)s AND parent = %(parent)s AND entry = %(entry)s AND owner = %(owner)s

-- name: node_hash
SELECT hash FROM node WHERE id = %(node)s AND owner = %(owner)s

-- name: node_entry
SELECT entry FROM node WHERE id = %(node)s AND story = %(story)s AND owner = %(owner)s

-- name: leading_to
WITH RECURSIVE up (id, parent, depth, entry, hash, number) AS (
    SELECT id, parent, depth, entry, hash, 1::bigint FROM node
    WHERE id = %(node)s AND story = %(story)s AND owner = %(owner)s AND %(most)s > 0
    UNION ALL
    SELECT n.id, n.parent, n.depth, n.entry, n.hash, up.number + 1
    FROM up JOIN node n ON n.id = up.parent AND n.owner = %(owner)s
    WHERE up.number < %(most)s
)
SELECT up.depth, up.id, up.hash, e.id, e.role, e.speaker, e.text, e.parts, e.witnesses, e.digest,
       e.at, e.source_id, e.extra, e.hidden, e.replaces
FROM up JOIN entry e ON e.id = up.entry ORDER BY up.depth

-- name: entry_digest
SELECT digest FROM entry WHERE id = %(entry)s AND story = %(story)s AND owner = %(owner)s

-- name: node_siblings
SELECT n.depth, n.id, n.hash, e.id, e.role, e.speaker, e.text, e.parts, e.witnesses, e.digest,
       e.at, e.source_id, e.extra, e.hidden, e.replaces
FROM node n JOIN entry e ON e.id = n.entry
WHERE n.story = %(story)s AND n.parent = %(parent)s AND n.owner = %(owner)s AND e.forgotten = 0
  AND (NOT EXISTS (SELECT 1 FROM line l JOIN path p ON p.line = abs(l.id) AND p.depth = n.depth
                   WHERE l.story = n.story AND l.published = 0 AND p.node = n.id)
       OR EXISTS (SELECT 1 FROM path p JOIN line l ON l.id = p.line
                  WHERE p.entry = n.entry AND p.node = n.id AND l.published = 1))
ORDER BY n.id

-- name: sibling_digests
SELECT e.digest FROM node n JOIN entry e ON e.id = n.entry
WHERE n.story = %(story)s AND n.parent = %(parent)s AND n.owner = %(owner)s AND e.forgotten = 0
  AND (NOT EXISTS (SELECT 1 FROM line l JOIN path p ON p.line = abs(l.id) AND p.depth = n.depth
                   WHERE l.story = n.story AND l.published = 0 AND p.node = n.id)
       OR EXISTS (SELECT 1 FROM path p JOIN line l ON l.id = p.line
                  WHERE p.entry = n.entry AND p.node = n.id AND l.published = 1))

-- name: set_attributes
UPDATE entry SET at = %s, source_id = %s, extra = %s, hidden = %s WHERE id = %s AND story = %s AND owner = %s

-- Moves and receipts

-- name: insert_move
INSERT INTO move (owner, story, branch, old_head, new_head, at)
VALUES (%(owner)s, %(story)s, %(branch)s, %(old_head)s, %(new_head)s, %(at)s)

-- name: moves
SELECT b.name, m.old_head, m.new_head, m.at FROM move m JOIN branch b ON b.id = m.branch
WHERE m.story = %(story)s AND m.owner = %(owner)s ORDER BY m.id

-- name: receipt
SELECT 1 FROM receipt WHERE story = %(story)s AND key_hash = md5(%(key)s::text) AND key = %(key)s AND owner = %(owner)s

-- name: insert_receipt
INSERT INTO receipt (owner, story, key) VALUES (%(owner)s, %(story)s, %(key)s)

-- Marks

-- name: marks
SELECT id, origin, kind, position, text, made_by, at, seen, of, after, behind FROM mark
WHERE branch = %(branch)s AND position >= %(since)s AND retired_by = 0 AND owner = %(owner)s
ORDER BY position, behind, id

-- name: marks_of_kinds
SELECT id, origin, kind, position, text, made_by, at, seen, of, after, behind FROM mark
WHERE branch = %(branch)s AND kind = ANY (ARRAY(SELECT jsonb_array_elements_text(%(kinds)s::jsonb)))
  AND position >= %(since)s AND retired_by = 0 AND owner = %(owner)s
ORDER BY position, behind, id

-- name: every_mark
SELECT id, origin, kind, position, text, made_by, at, seen, of, after, behind, retired_by FROM mark
WHERE branch = %(branch)s AND position >= %(since)s AND owner = %(owner)s ORDER BY id

-- name: newest_mark
SELECT id, origin, kind, position, text, made_by, at, seen, of, after, behind FROM mark
WHERE branch = %(branch)s AND kind = %(kind)s AND retired_by = 0 AND owner = %(owner)s
ORDER BY position DESC, behind DESC, id DESC LIMIT 1 OFFSET %(number)s

-- name: count_marks
SELECT count(DISTINCT position) FROM mark
WHERE branch = %(branch)s AND kind = %(kind)s AND position BETWEEN 0 AND %(through)s AND retired_by = 0
  AND owner = %(owner)s

-- name: mark_on_branch
SELECT 1 FROM mark WHERE id = %(mark)s AND branch = %(branch)s AND retired_by = 0 AND owner = %(owner)s

-- name: mark_of_origin
SELECT position FROM mark WHERE branch = %(branch)s AND origin = %(origin)s AND owner = %(owner)s LIMIT 1

-- name: insert_mark
INSERT INTO mark (owner, story, branch, origin, kind, position, text, made_by, at, seen, of, after, behind,
                  retired_by)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING id

-- name: set_mark_origin
UPDATE mark SET origin = id WHERE id = %(mark)s AND owner = %(owner)s

-- name: retire_mark
UPDATE mark SET retired_by = -1 WHERE id = %s AND branch = %s AND retired_by = 0 AND owner = %s

-- name: set_retired_by
UPDATE mark SET retired_by = %s WHERE id = %s AND retired_by = -1 AND owner = %s

-- name: mark_behind
SELECT behind FROM mark WHERE branch = %(branch)s AND origin = %(origin)s AND retired_by = 0 AND owner = %(owner)s

-- name: move_mark
UPDATE mark SET position = %s, behind = %s WHERE id = %s AND owner = %s

-- name: delete_mark
DELETE FROM mark WHERE id = %(mark)s AND branch = %(branch)s AND owner = %(owner)s

-- name: revive_marks
UPDATE mark SET retired_by = 0 WHERE branch = %(branch)s AND retired_by = %(mark)s AND owner = %(owner)s

-- name: newest_version_id
SELECT coalesce(max(id), 0) FROM version WHERE story = %(story)s AND owner = %(owner)s

-- Versions and cover

-- name: insert_version
INSERT INTO version (owner, story, kind, scope, first, last, length, key, before, replaces, text, carry, status,
                     made_by, reason, at, model, prompt_hash, calls, input_tokens, output_tokens, shed, unverified,
                     anchor, reach, commitments, firm, first_digest)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
RETURNING id

-- name: version_by_read
SELECT id, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, model,
       prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, firm, first_digest
FROM version
WHERE story = %(story)s AND before = %(before)s AND kind = %(kind)s AND scope = %(scope)s AND key = %(key)s
  AND replaces = %(replaces)s AND status NOT IN ('refused', 'by hand', 'forgotten') AND owner = %(owner)s

-- name: versions
SELECT id, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, model,
       prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, firm, first_digest
FROM version WHERE story = %(story)s AND owner = %(owner)s ORDER BY id

-- name: version
SELECT id, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, model,
       prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, firm, first_digest
FROM version WHERE id = %(version)s AND story = %(story)s AND owner = %(owner)s

-- name: newest_versions
SELECT id, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, model,
       prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, firm, first_digest
FROM version
WHERE story = %(story)s AND kind = %(kind)s AND scope = %(scope)s AND status = %(status)s
  AND reach > %(beyond)s AND owner = %(owner)s
ORDER BY id DESC LIMIT %(most)s

-- name: notes
SELECT id, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, model,
       prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, firm, first_digest
FROM version
WHERE story = %(story)s AND kind = %(kind)s AND scope = %(scope)s
  AND first_digest = ANY (ARRAY(SELECT decode(jsonb_array_elements_text(%(firsts)s::jsonb), 'hex')))
  AND first_digest <> ''::bytea AND status IN ('committed', 'provisional') AND owner = %(owner)s
ORDER BY id

-- name: built_on
WITH RECURSIVE built (id) AS (
    SELECT id FROM version WHERE id = %(version)s AND story = %(story)s AND owner = %(owner)s
    UNION
    SELECT v.id FROM built JOIN version v ON v.story = %(story)s AND v.before = built.id AND v.owner = %(owner)s
)
SELECT id FROM built ORDER BY id

-- name: set_status
UPDATE version SET status = %(status)s, reason = %(reason)s
WHERE id = %(version)s AND story = %(story)s AND owner = %(owner)s

-- name: loosen_version
UPDATE version SET firm = 0 WHERE id = %s AND owner = %s

-- name: loosen_cover
UPDATE cover SET firm = 0 WHERE version = %s AND owner = %s

-- name: longest_version
SELECT coalesce(max(length), 0) FROM version
WHERE story = %(story)s AND (scope = '' OR (scope >= '0' AND scope < ':')) AND owner = %(owner)s

-- name: links_after
SELECT id, length, key, kind, scope, firm FROM version
WHERE story = %(story)s AND before = %(before)s AND status IN ('committed', 'provisional') AND owner = %(owner)s
ORDER BY id

-- name: links_beginning
SELECT id, length, key, kind, scope, firm FROM version
WHERE story = %(story)s AND before = 0 AND scope = %(scope)s AND status IN ('committed', 'provisional')
  AND owner = %(owner)s
ORDER BY id

-- name: own_links
SELECT DISTINCT before, first, scope FROM version
WHERE story = %(story)s AND scope >= '@' AND scope < 'A' AND last >= %(depth)s AND last < %(length)s AND first <= %(depth)s
  AND status IN ('committed', 'provisional') AND owner = %(owner)s

-- name: cover_span
SELECT first, last, version, scope FROM cover
WHERE line = %(line)s AND last BETWEEN %(first)s AND %(last)s AND firm >= %(firm)s AND owner = %(owner)s

-- name: cover_of_kind
SELECT first, last, version, scope FROM cover
WHERE line = %(line)s AND kind = %(kind)s AND last BETWEEN %(first)s AND %(last)s AND firm >= %(firm)s
  AND owner = %(owner)s

-- name: cover_going_on
SELECT c.version, c.last, c.scope FROM cover c
WHERE c.line = %(line)s AND c.last BETWEEN %(first)s AND %(last)s AND c.owner = %(owner)s
  AND c.scope < '@'
  AND EXISTS (SELECT 1 FROM version v WHERE v.story = %(story)s AND v.before = c.version
              AND c.last + v.length >= %(depth)s AND v.status IN ('committed', 'provisional') AND v.owner = %(owner)s)

-- name: cover_of_version
SELECT line, last FROM cover WHERE version = %(version)s AND owner = %(owner)s

-- name: inherit_cover
INSERT INTO cover (owner, line, kind, scope, first, last, version, firm)
SELECT owner, %(to_line)s, kind, scope, first, last, version, firm FROM cover
WHERE line = %(from_line)s AND last <= %(last)s AND owner = %(owner)s
ON CONFLICT DO NOTHING

-- One step after another, each by its index: a limit keeps the planner from beginning with all versions.
-- name: furthest_live
SELECT a.number, c.first, c.last, v.*
FROM (
    SELECT value ->> 0 AS scope, least((value ->> 1)::bigint, %(last)s) AS last, (value ->> 2)::bigint AS number,
           (value ->> 3)::bigint AS origin
    FROM jsonb_array_elements(%(asked)s::jsonb)
) a CROSS JOIN LATERAL (
    SELECT first, last, version FROM cover
    WHERE line = %(line)s AND kind = %(kind)s AND scope = a.scope AND last <= a.last AND firm >= %(firm)s
      AND owner = %(owner)s
    ORDER BY last DESC, version DESC LIMIT 1
) c CROSS JOIN LATERAL (
    SELECT id, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, model,
           prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, firm, first_digest
    FROM version WHERE id = c.version AND owner = %(owner)s LIMIT 1
) v
WHERE CASE WHEN a.origin = 0 THEN true ELSE (
    SELECT origin FROM mark WHERE branch = %(branch)s AND origin = a.origin AND retired_by = 0 AND owner = %(owner)s
) IS NOT NULL END

-- name: insert_cover
INSERT INTO cover (owner, line, kind, scope, first, last, version, firm) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)

-- name: delete_cover_from
DELETE FROM cover WHERE line = %(line)s AND last >= %(depth)s AND owner = %(owner)s

-- name: delete_cover_of
DELETE FROM cover WHERE version = %s AND owner = %s

-- name: spent
SELECT coalesce(sum(calls), 0)::bigint, coalesce(sum(input_tokens), 0)::bigint, coalesce(sum(output_tokens), 0)::bigint
FROM version WHERE owner = %(owner)s AND at >= %(since)s AND calls > 0

-- name: lease
SELECT holder, until FROM lease WHERE story = %(story)s AND work = %(work)s AND owner = %(owner)s

-- name: take_lease
INSERT INTO lease (owner, story, work, holder, until) VALUES (%(owner)s, %(story)s, %(work)s, %(holder)s, %(until)s)
ON CONFLICT (owner, story, work) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE lease.holder = excluded.holder OR lease.until <= %(now)s

-- name: give_lease
DELETE FROM lease WHERE story = %(story)s AND work = %(work)s AND holder = %(holder)s AND owner = %(owner)s

-- Views

-- name: epoch
SELECT id FROM epoch WHERE story = %(story)s AND digest = %(digest)s AND owner = %(owner)s

-- name: insert_epoch
INSERT INTO epoch (owner, story, digest, text) VALUES (%(owner)s, %(story)s, %(digest)s, %(text)s)
RETURNING id

-- name: insert_recipe
INSERT INTO recipe (owner, story, reader, asked, node, position, before_tail, epoch, body, at)
VALUES (%(owner)s, %(story)s, %(reader)s, %(asked)s, %(node)s, %(position)s, %(before_tail)s, %(epoch)s, %(body)s, %(at)s)
RETURNING id

-- name: recipes
SELECT r.reader, r.asked, r.node, r.position, r.before_tail, e.text, r.body, r.at
FROM recipe r JOIN epoch e ON e.id = r.epoch
WHERE r.story = %(story)s AND md5(r.reader) = md5(%(reader)s) AND r.position BETWEEN %(first)s AND %(last)s AND r.owner = %(owner)s AND r.asked = %(asked)s
ORDER BY r.position DESC, r.id DESC LIMIT %(most)s

-- name: recipes_of_reader
SELECT r.reader, r.asked, r.node, r.position, r.before_tail, e.text, r.body, r.at
FROM recipe r JOIN epoch e ON e.id = r.epoch
WHERE r.story = %(story)s AND md5(r.reader) = md5(%(reader)s) AND r.position BETWEEN %(first)s AND %(last)s AND r.owner = %(owner)s
ORDER BY r.position DESC, r.id DESC LIMIT %(most)s

-- name: witnessed_entry
SELECT 1 FROM entry WHERE story = %(story)s AND witnesses IS NOT NULL AND owner = %(owner)s LIMIT 1

-- Recall

-- name: recall_state
SELECT s.created_at, r.version, r.word_table, r.through, r.vectors_through, r.changes
FROM story s LEFT JOIN recall_state r ON r.story = s.id AND r.owner = s.owner
WHERE s.id = %(story)s AND s.owner = %(owner)s

-- name: insert_recall_state
INSERT INTO recall_state (story, owner, version, word_table, through, vectors_through, changes)
SELECT id, owner, %(version)s, '', -1, -1, 0 FROM story WHERE id = %(story)s AND owner = %(owner)s

-- name: set_recall_state
UPDATE recall_state SET version = %(version)s, word_table = %(word_table)s, through = %(through)s,
                        vectors_through = %(vectors_through)s, changes = %(changes)s
WHERE story = %(story)s AND owner = %(owner)s

-- name: entries_to_index
SELECT id, role, speaker, text, parts, witnesses, digest, at, source_id, extra, hidden, replaces
FROM entry
WHERE story = %(story)s AND id > %(after)s AND forgotten = 0 AND owner = %(owner)s ORDER BY id LIMIT %(most)s

-- name: count_to_index
SELECT count(*) FROM (SELECT 1 FROM entry
                      WHERE story = %(story)s AND id > %(after)s AND forgotten = 0 AND owner = %(owner)s LIMIT %(most)s) waiting

-- name: newest_entry
SELECT coalesce(max(id), -1) FROM entry WHERE story = %(story)s AND owner = %(owner)s

-- name: append_posting
INSERT INTO recall_posting (owner, story, block, term, data) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (story, term, block) DO UPDATE SET data = recall_posting.data || excluded.data
WHERE recall_posting.owner = excluded.owner

-- name: append_facts
INSERT INTO recall_fact (owner, story, block, data) VALUES (%s, %s, %s, %s)
ON CONFLICT (story, block) DO UPDATE SET data = recall_fact.data || excluded.data
WHERE recall_fact.owner = excluded.owner

-- name: insert_vector
INSERT INTO recall_vector (owner, story, entry, data) VALUES (%s, %s, %s, %s)

-- name: insert_speaker
INSERT INTO recall_speaker (owner, story, name) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING

-- name: postings
SELECT term, block, data FROM recall_posting
WHERE story = %(story)s AND term = ANY (ARRAY(SELECT jsonb_array_elements_text(%(terms)s::jsonb)))
  AND block BETWEEN %(first)s AND %(last)s AND owner = %(owner)s

-- name: facts
SELECT block, data FROM recall_fact WHERE story = %(story)s AND block BETWEEN %(first)s AND %(last)s AND owner = %(owner)s

-- name: vectors
SELECT entry, data FROM recall_vector
WHERE story = %(story)s AND entry = ANY (ARRAY(SELECT jsonb_array_elements_text(%(entries)s::jsonb)::bigint))
  AND entry <= %(last)s AND owner = %(owner)s

-- name: speakers
SELECT name FROM recall_speaker WHERE story = %(story)s AND owner = %(owner)s

-- name: postings_of_block
SELECT term, data FROM recall_posting WHERE story = %(story)s AND block = %(block)s AND owner = %(owner)s

-- name: set_posting
UPDATE recall_posting SET data = %s WHERE story = %s AND block = %s AND term = %s AND owner = %s

-- name: set_facts
UPDATE recall_fact SET data = %s WHERE story = %s AND block = %s AND owner = %s

-- name: delete_posting
DELETE FROM recall_posting WHERE story = %s AND block = %s AND term = %s AND owner = %s

-- name: delete_postings
DELETE FROM recall_posting WHERE story = %(story)s AND block BETWEEN %(first)s AND %(last)s AND owner = %(owner)s

-- name: delete_facts
DELETE FROM recall_fact WHERE story = %(story)s AND block BETWEEN %(first)s AND %(last)s AND owner = %(owner)s

-- name: delete_vectors
DELETE FROM recall_vector WHERE story = %(story)s AND entry BETWEEN %(first)s AND %(last)s AND owner = %(owner)s

-- name: delete_vector
DELETE FROM recall_vector WHERE story = %s AND entry = %s AND owner = %s

-- name: delete_silent_speakers
DELETE FROM recall_speaker WHERE story = %(story)s AND owner = %(owner)s
  AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.story = %(story)s AND e.id <= %(through)s AND e.speaker COLLATE "C" = recall_speaker.name
                  AND e.owner = %(owner)s)

-- name: path_ids
SELECT node, entry FROM path
WHERE line = %(line)s AND depth BETWEEN %(first)s AND %(last)s AND owner = %(owner)s ORDER BY depth

-- Checking: what is stored beside what it is derived from

-- name: check_stories
SELECT id, name, active, header, settings FROM story WHERE owner = %(owner)s ORDER BY id

-- name: check_lines
SELECT id, parent, fork, published, begun_at FROM line WHERE story = %(story)s AND owner = %(owner)s ORDER BY id

-- name: check_nodes
SELECT n.id, n.parent, n.depth, n.entry, n.hash, p.depth, p.hash, p.story, e.digest, e.story
FROM node n LEFT JOIN node p ON p.id = n.parent AND p.owner = %(owner)s
            LEFT JOIN entry e ON e.id = n.entry AND e.owner = %(owner)s
WHERE n.story = %(story)s AND (n.parent, n.entry) > (%(parent)s, %(entry)s) AND n.owner = %(owner)s
ORDER BY n.parent, n.entry LIMIT %(most)s

-- name: check_entries
SELECT e.id, e.role, e.speaker, e.text, e.parts, e.witnesses, e.digest, e.at, e.source_id, e.extra, e.hidden,
       e.replaces, e.match_key, r.story
FROM entry e LEFT JOIN entry r ON r.id = e.replaces AND r.owner = %(owner)s
WHERE e.id IN (SELECT jsonb_array_elements_text(%(ids)s::jsonb)::bigint) AND e.story = %(story)s AND e.owner = %(owner)s

-- name: check_path
SELECT p.depth, p.node, p.entry, n.parent, n.depth, n.entry, n.story
FROM path p LEFT JOIN node n ON n.id = p.node AND n.owner = %(owner)s
WHERE p.line = %(line)s AND p.depth >= %(first)s AND p.owner = %(owner)s ORDER BY p.depth LIMIT %(most)s

-- name: check_digests
SELECT p.node, e.digest FROM path p JOIN entry e ON e.id = p.entry
WHERE p.line = %(line)s AND p.depth BETWEEN %(first)s AND %(last)s AND p.owner = %(owner)s ORDER BY p.depth

-- name: check_versions
SELECT v.id, v.kind, v.scope, v.first, v.last, v.length, v.key, v.before, v.replaces, v.status, v.anchor, v.reach,
       v.firm, v.first_digest, v.shed, v.unverified, v.commitments, b.story, b.kind, b.scope, b.firm, b.reach, b.last,
       r.story, r.kind, r.scope, n.story, n.depth
FROM version v LEFT JOIN version b ON b.id = v.before AND b.owner = %(owner)s
               LEFT JOIN version r ON r.id = v.replaces AND r.owner = %(owner)s
               LEFT JOIN node n ON n.id = v.anchor AND n.owner = %(owner)s
WHERE v.story = %(story)s AND v.id > %(after)s AND v.owner = %(owner)s ORDER BY v.id LIMIT %(most)s

-- name: check_run
WITH RECURSIVE up (parent, entry, number) AS (
    SELECT parent, entry, 1::bigint FROM node WHERE id = %(node)s AND story = %(story)s AND owner = %(owner)s
    UNION ALL
    SELECT n.parent, n.entry, up.number + 1 FROM up JOIN node n ON n.id = up.parent AND n.owner = %(owner)s
    WHERE up.number < %(most)s
)
SELECT e.digest FROM up JOIN entry e ON e.id = up.entry ORDER BY up.number DESC

-- name: check_cover
SELECT kind, scope, first, last, version, firm FROM cover WHERE line = %(line)s AND owner = %(owner)s ORDER BY last, version

-- name: check_marks
SELECT m.id, m.story, m.origin, m.kind, m.position, m.behind, m.after, m.retired_by, r.branch, o.story, v.story
FROM mark m LEFT JOIN mark r ON r.id = m.retired_by AND r.owner = %(owner)s
            LEFT JOIN mark o ON o.id = m.origin AND o.owner = %(owner)s
            LEFT JOIN version v ON v.id = m.after AND v.owner = %(owner)s
WHERE m.branch = %(branch)s AND m.owner = %(owner)s ORDER BY m.id

-- name: check_moves
SELECT m.id, m.branch, b.story, m.old_head, m.new_head, o.story, n.story
FROM move m LEFT JOIN branch b ON b.id = m.branch AND b.owner = %(owner)s
            LEFT JOIN node o ON o.id = m.old_head AND o.owner = %(owner)s
            LEFT JOIN node n ON n.id = m.new_head AND n.owner = %(owner)s
WHERE m.story = %(story)s AND m.id > %(after)s AND m.owner = %(owner)s ORDER BY m.id LIMIT %(most)s

-- name: check_blocks
SELECT block FROM recall_fact WHERE story = %(story)s AND block <= %(last)s AND owner = %(owner)s
UNION SELECT block FROM recall_posting WHERE story = %(story)s AND block <= %(last)s AND owner = %(owner)s

-- name: check_vectors
SELECT v.entry, octet_length(v.data)
FROM recall_vector v LEFT JOIN entry e ON e.id = v.entry AND e.story = v.story AND e.forgotten = 0 AND e.owner = %(owner)s
WHERE v.story = %(story)s AND v.entry <= %(last)s AND v.owner = %(owner)s AND (e.id IS NULL OR octet_length(v.data) <> %(size)s)

-- name: silent_speakers
SELECT s.name FROM recall_speaker s WHERE s.story = %(story)s AND s.owner = %(owner)s
  AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.story = %(story)s AND e.speaker COLLATE "C" = s.name AND e.owner = %(owner)s)
ORDER BY s.name

-- name: count_receipts
SELECT count(*) FROM receipt WHERE story = %(story)s AND owner = %(owner)s

-- name: count_leases
SELECT count(*) FROM lease WHERE story = %(story)s AND owner = %(owner)s

-- name: check_strays
SELECT t.what, t.row, t.story, CASE WHEN s.id IS NULL THEN 0 ELSE t.branch END
FROM (
    SELECT 'branch' AS what, name::text AS row, story, 0 AS branch FROM branch WHERE owner = %(owner)s
    UNION ALL SELECT 'line', id::text, story, 0 FROM line WHERE owner = %(owner)s
    UNION ALL SELECT 'version', id::text, story, 0 FROM version WHERE owner = %(owner)s
    UNION ALL SELECT 'mark', id::text, story, branch FROM mark WHERE owner = %(owner)s
    UNION ALL SELECT 'move', id::text, story, 0 FROM move WHERE owner = %(owner)s
    UNION ALL SELECT 'receipt', key, story, 0 FROM receipt WHERE owner = %(owner)s
    UNION ALL SELECT 'lease', work, story, 0 FROM lease WHERE owner = %(owner)s
    UNION ALL SELECT 'attached book', name, story, 0 FROM story_book WHERE owner = %(owner)s
    UNION ALL SELECT 'index', story::text, story, 0 FROM recall_state WHERE owner = %(owner)s
    UNION ALL SELECT DISTINCT 'postings', story::text, story, 0 FROM recall_posting WHERE owner = %(owner)s
    UNION ALL SELECT DISTINCT 'facts', story::text, story, 0 FROM recall_fact WHERE owner = %(owner)s
    UNION ALL SELECT DISTINCT 'vectors', story::text, story, 0 FROM recall_vector WHERE owner = %(owner)s
    UNION ALL SELECT DISTINCT 'speakers', story::text, story, 0 FROM recall_speaker WHERE owner = %(owner)s
    UNION ALL SELECT DISTINCT 'answers', story::text, story, 0 FROM answer WHERE owner = %(owner)s
) t LEFT JOIN story s ON s.id = t.story AND s.owner = %(owner)s
    LEFT JOIN branch b ON b.id = t.branch AND b.owner = %(owner)s
WHERE s.id IS NULL OR (t.branch <> 0 AND b.id IS NULL) LIMIT %(most)s

-- Taking away what no story needs

-- name: branch_without_line
SELECT 1 FROM branch b LEFT JOIN line l ON l.id = b.line AND l.story = b.story
WHERE b.story = %(story)s AND b.owner = %(owner)s AND l.id IS NULL LIMIT 1

-- name: set_line_aside
UPDATE line SET id = -id, parent = NULL WHERE id = %(line)s AND story = %(story)s AND owner = %(owner)s

-- name: delete_line
DELETE FROM line WHERE id = %(line)s AND story = %(story)s AND owner = %(owner)s

-- name: count_path
SELECT count(*) FROM path WHERE line = %(line)s AND depth >= %(depth)s AND owner = %(owner)s

-- name: last_depth
SELECT coalesce(max(depth), -1) FROM path WHERE line = %(line)s AND owner = %(owner)s

-- name: count_cover
SELECT count(*) FROM cover WHERE line = %(line)s AND last >= %(depth)s AND owner = %(owner)s

-- name: end_of_line
SELECT p.depth, p.node, p.entry, n.parent,
       (SELECT count(*) FROM node c WHERE c.story = %(story)s AND c.parent = p.node AND c.owner = %(owner)s),
       EXISTS (SELECT 1 FROM path o WHERE o.entry = p.entry AND o.node = p.node AND o.line <> p.line
               AND o.owner = %(owner)s)
FROM path p LEFT JOIN node n ON n.id = p.node AND n.owner = %(owner)s
WHERE p.line = %(line)s AND p.depth < %(below)s AND p.owner = %(owner)s ORDER BY p.depth DESC LIMIT %(most)s

-- name: nodes_after
SELECT n.id, n.entry,
       EXISTS (SELECT 1 FROM node c WHERE c.story = %(story)s AND c.parent = n.id AND c.owner = %(owner)s),
       EXISTS (SELECT 1 FROM path o WHERE o.entry = n.entry AND o.node = n.id AND o.owner = %(owner)s)
FROM node n WHERE n.story = %(story)s AND n.parent = %(parent)s AND n.owner = %(owner)s

-- name: entries_of_nodes
SELECT parent, entry FROM node
WHERE story = %(story)s AND (parent, entry) > (%(parent)s, %(entry)s) AND owner = %(owner)s ORDER BY parent, entry LIMIT %(most)s

-- name: moves_after
SELECT id, old_head, new_head FROM move WHERE story = %(story)s AND id > %(after)s AND owner = %(owner)s
ORDER BY id LIMIT %(most)s

-- name: anchors_after
SELECT id, anchor, status FROM version WHERE story = %(story)s AND id > %(after)s AND owner = %(owner)s ORDER BY id LIMIT %(most)s

-- name: delete_node
DELETE FROM node WHERE id = %s AND story = %s AND owner = %s

-- name: delete_entry
DELETE FROM entry WHERE id = %s AND story = %s AND owner = %s

-- name: count_old_leases
SELECT count(*) FROM lease WHERE until <= %(before)s AND owner = %(owner)s

-- name: delete_old_leases
DELETE FROM lease WHERE until <= %(before)s AND owner = %(owner)s

-- Forgetting

-- name: rewordings
SELECT id, replaces FROM entry WHERE story = %(story)s AND replaces IS NOT NULL AND owner = %(owner)s

-- name: entries_saying
SELECT id FROM entry WHERE story = %(story)s AND digest = %(digest)s AND forgotten = 0 AND owner = %(owner)s

-- name: story_begun
SELECT created_at FROM story WHERE owner = %(owner)s AND name = %(name)s

-- name: stories_begun
SELECT id, name FROM story WHERE owner = %(owner)s AND created_at = %(at)s ORDER BY name

-- name: nodes_with_hash
SELECT entry FROM node WHERE story = %(story)s AND owner = %(owner)s AND hash IN (SELECT decode(jsonb_array_elements_text(%(hashes)s::jsonb), 'hex'))

-- name: nodes_from
WITH RECURSIVE below (id) AS (
    SELECT id FROM node WHERE story = %(story)s AND owner = %(owner)s AND entry IN (SELECT jsonb_array_elements_text(%(entries)s::jsonb)::bigint)
    UNION
    SELECT n.id FROM below JOIN node n ON n.story = %(story)s AND n.parent = below.id AND n.owner = %(owner)s
)
SELECT n.id, n.parent, p.hash, e.digest, n.entry, n.hash
FROM below JOIN node n ON n.id = below.id JOIN entry e ON e.id = n.entry LEFT JOIN node p ON p.id = n.parent
ORDER BY n.depth

-- name: forget_entry
UPDATE entry SET speaker = NULL, text = '', parts = NULL, witnesses = NULL, digest = %s, match_key = %s, at = NULL,
                 source_id = NULL, extra = NULL, hidden = 1, forgotten = 1
WHERE id = %s AND owner = %s

-- name: entry_role
SELECT role FROM entry WHERE id = %(entry)s AND story = %(story)s AND owner = %(owner)s

-- name: set_node_hash
UPDATE node SET hash = %s WHERE id = %s AND owner = %s

-- name: version_anchors
SELECT id, anchor, status FROM version WHERE story = %(story)s AND owner = %(owner)s AND status <> 'forgotten'

-- name: forget_version
UPDATE version SET status = 'forgotten', text = '', carry = '', reason = '', key = ''::bytea, shed = '[]', unverified = '[]',
                   commitments = '[]', first_digest = ''::bytea
WHERE id = %s AND owner = %s

-- name: forget_key
UPDATE version SET key = ''::bytea, first_digest = ''::bytea WHERE id = %s AND owner = %s

-- name: delete_story_cover
DELETE FROM cover WHERE line IN (SELECT abs(id) FROM line WHERE story = %(story)s AND owner = %(owner)s) AND owner = %(owner)s

-- name: delete_story_path
DELETE FROM path WHERE line IN (SELECT abs(id) FROM line WHERE story = %(story)s AND owner = %(owner)s) AND owner = %(owner)s

-- name: delete_story_line
DELETE FROM line WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story_node
DELETE FROM node WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story_entry
DELETE FROM entry WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story_version
DELETE FROM version WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story_mark
DELETE FROM mark WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story_move
DELETE FROM move WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story_receipt
DELETE FROM receipt WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story_lease
DELETE FROM lease WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story_epoch
DELETE FROM epoch WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story_recipe
DELETE FROM recipe WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story_answer
DELETE FROM answer WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story_recall_state
DELETE FROM recall_state WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story_recall_posting
DELETE FROM recall_posting WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story_recall_fact
DELETE FROM recall_fact WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story_recall_vector
DELETE FROM recall_vector WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story_recall_speaker
DELETE FROM recall_speaker WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story_story_book
DELETE FROM story_book WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story_branch
DELETE FROM branch WHERE story = %(story)s AND owner = %(owner)s

-- name: delete_story
DELETE FROM story WHERE id = %(story)s AND owner = %(owner)s

-- Recognition

-- name: stories_holding
SELECT DISTINCT e.story, s.name, e.match_key
FROM entry e JOIN story s ON s.id = e.story AND s.owner = e.owner
WHERE e.owner = %(owner)s
  AND e.match_key = ANY (ARRAY(SELECT decode(jsonb_array_elements_text(%(keys)s::jsonb), 'hex')))
LIMIT %(most)s
