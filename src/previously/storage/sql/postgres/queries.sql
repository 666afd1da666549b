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
SELECT set_config('previously.owner', :owner, true)

-- name: begin_writing
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT set_config('previously.owner', :owner, true);
SELECT id FROM story WHERE id = :story AND owner = :owner FOR NO KEY UPDATE;
INSERT INTO last_change (writer, token) VALUES (:writer, :token)
ON CONFLICT (writer) DO UPDATE SET token = excluded.token, at = excluded.at

-- name: begin_creating
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT set_config('previously.owner', :owner, true);
SELECT pg_advisory_xact_lock(hashtextextended(:name, hashtextextended(:owner, 0)));
INSERT INTO last_change (writer, token) VALUES (:writer, :token)
ON CONFLICT (writer) DO UPDATE SET token = excluded.token, at = excluded.at

-- As the login, not as the role that serves people, until the transaction ends. A login that is a superuser is not held
-- to row-level security: there the owner that each query asks for is the only wall. Rows are read piece by piece, which
-- the planner without statistics would rather not do.

-- name: begin_destroying
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT set_config('previously.owner', :owner, true);
SELECT id FROM story WHERE id = :story AND owner = :owner FOR NO KEY UPDATE;
INSERT INTO last_change (writer, token) VALUES (:writer, :token)
ON CONFLICT (writer) DO UPDATE SET token = excluded.token, at = excluded.at;
SET LOCAL ROLE NONE;
SET LOCAL enable_bitmapscan TO off

-- name: may_destroy
SELECT bool_and(has_table_privilege(c.oid, 'DELETE')) AND bool_and(has_schema_privilege(c.relnamespace, 'USAGE'))
FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
WHERE s.nspname = 'previously' AND c.relname IN ('story', 'entry', 'node', 'line', 'version', 'book')

-- Changes nothing, and waits for the writer's transaction if it is still under way.

-- name: last_change
INSERT INTO last_change (writer, token) VALUES (:writer, '')
ON CONFLICT (writer) DO UPDATE SET token = last_change.token RETURNING token

-- name: forget_old_writers
DELETE FROM last_change WHERE writer IN (
    SELECT writer FROM last_change WHERE at < now() - interval '1 day' FOR UPDATE SKIP LOCKED
)

-- Stories

-- name: story_named
SELECT s.id, s.name, s.budget_tokens, b.name, b.head, b.messages,
       (SELECT count(*) FROM branch WHERE story = s.id)
FROM story s JOIN branch b ON b.id = s.active
WHERE s.owner = :owner AND s.name_hash = md5(:name::text) AND s.name = :name

-- name: story_stamps
SELECT s.id, s.name, b.name, b.head, b.messages,
       (SELECT coalesce(max(m.id), 0) FROM move m WHERE m.story = s.id),
       (SELECT coalesce(max(v.id), 0) FROM version v WHERE v.story = s.id AND v.kind <> 'question'),
       (SELECT coalesce(max(k.id), 0) FROM mark k WHERE k.story = s.id),
       (SELECT coalesce(sum(k.retired_by), 0)::bigint FROM mark k WHERE k.story = s.id),
       (SELECT count(*) FROM story_book a WHERE a.story = s.id), s.settings
FROM story s JOIN branch b ON b.id = s.active
WHERE s.owner = :owner ORDER BY s.name

-- name: story_stamp
SELECT s.id, s.name, b.name, b.head, b.messages,
       (SELECT coalesce(max(m.id), 0) FROM move m WHERE m.story = s.id),
       (SELECT coalesce(max(v.id), 0) FROM version v WHERE v.story = s.id AND v.kind <> 'question'),
       (SELECT coalesce(max(k.id), 0) FROM mark k WHERE k.story = s.id),
       (SELECT coalesce(sum(k.retired_by), 0)::bigint FROM mark k WHERE k.story = s.id),
       (SELECT count(*) FROM story_book a WHERE a.story = s.id), s.settings
FROM story s JOIN branch b ON b.id = s.active
WHERE s.id = :story AND s.owner = :owner

-- name: stories_known_by
SELECT name, header FROM story WHERE owner = :owner AND strpos(header, :part) > 0 ORDER BY id

-- name: insert_story
INSERT INTO story (owner, name, active, created_at) VALUES (:owner, :name, 0, :at) RETURNING id

-- Books: of an owner, attached to stories

-- name: book
SELECT name, body, at FROM book WHERE owner = :owner AND name_hash = md5(:name::text) AND name = :name

-- name: hold_book
SELECT body FROM book WHERE owner = :owner AND name_hash = md5(:name::text) AND name = :name FOR SHARE

-- name: keep_book
INSERT INTO book (owner, name, body, at) VALUES (:owner, :name, :body, :at)
ON CONFLICT (owner, name_hash) DO UPDATE SET body = excluded.body, at = excluded.at

-- name: add_book
INSERT INTO book (owner, name, body, at) VALUES (:owner, :name, :body, :at)
ON CONFLICT (owner, name_hash) DO NOTHING

-- name: delete_book
DELETE FROM book WHERE owner = :owner AND name_hash = md5(:name::text) AND name = :name

-- name: attach_book
INSERT INTO story_book (owner, story, name, position)
SELECT :owner, :story, :name, coalesce(max(position) + 1, 0) FROM story_book
WHERE story = :story AND owner = :owner
ON CONFLICT (story, name_hash) DO NOTHING

-- name: book_attached
SELECT 1 FROM story_book WHERE story = :story AND name_hash = md5(:name::text) AND name = :name AND owner = :owner

-- name: detach_book
DELETE FROM story_book WHERE story = :story AND name_hash = md5(:name::text) AND name = :name AND owner = :owner

-- name: book_attached_to
SELECT story FROM story_book WHERE owner = :owner AND name_hash = md5(:name::text) AND name = :name

-- name: detach_book_everywhere
DELETE FROM story_book WHERE owner = :owner AND name_hash = md5(:name::text) AND name = :name

-- name: check_attached
SELECT a.name, a.position, b.owner FROM story_book a LEFT JOIN book b ON b.owner = a.owner AND b.name_hash = a.name_hash AND b.name = a.name
WHERE a.story = :story AND a.owner = :owner ORDER BY a.position

-- Answers of models, and what is known of them

-- name: keep_answer
INSERT INTO answer (owner, request, story, text, model, at)
VALUES (:owner, :request, :story, :text, :model, :at)
ON CONFLICT (owner, request) DO UPDATE
SET id = excluded.id, story = excluded.story, text = excluded.text, model = excluded.model, at = excluded.at

-- name: model_fact
SELECT fact FROM model_fact WHERE owner = :owner AND model_hash = md5(:model::text) AND model = :model

-- name: set_model_fact
INSERT INTO model_fact (owner, model, fact, at) VALUES (:owner, :model, :fact, :at)
ON CONFLICT (owner, model_hash) DO UPDATE SET id = excluded.id, fact = excluded.fact, at = excluded.at

-- Branches and lines

-- name: branch_named
SELECT id, name, head, messages, line FROM branch
WHERE story = :story AND owner = :owner AND name_hash = md5(:name::text) AND name = :name

-- name: insert_branch
INSERT INTO branch (owner, story, name, head, messages, line, created_at)
VALUES (:owner, :story, :name, :head, :messages, :line, :at) RETURNING id

-- name: insert_line
INSERT INTO line (owner, story, parent, fork, published, begun_at)
VALUES (:owner, :story, :parent, :fork, :published, :begun_at) RETURNING id

-- Entries and nodes

-- name: reserve_entry
SELECT nextval('entry_ids') FROM generate_series(1, :count)

-- name: reserve_node
SELECT nextval('node_ids') FROM generate_series(1, :count)

-- name: leading_to
WITH RECURSIVE up (id, parent, depth, entry, hash, number) AS (
    SELECT id, parent, depth, entry, hash, 1::bigint FROM node
    WHERE id = :node AND story = :story AND owner = :owner AND :most > 0
    UNION ALL
    SELECT n.id, n.parent, n.depth, n.entry, n.hash, up.number + 1
    FROM up JOIN node n ON n.id = up.parent AND n.owner = :owner
    WHERE up.number < :most
)
SELECT up.depth, up.id, up.hash, e.id, e.role, e.speaker, e.text, e.parts, e.witnesses, e.digest,
       e.at, e.source_id, e.extra, e.hidden, e.replaces
FROM up JOIN entry e ON e.id = up.entry ORDER BY up.depth

-- Moves and receipts

-- name: receipt
SELECT 1 FROM receipt WHERE story = :story AND key_hash = md5(:key::text) AND key = :key AND owner = :owner

-- Marks

-- name: marks_of_kinds
SELECT id, origin, kind, position, text, made_by, at, seen, of, after, behind FROM mark
WHERE branch = :branch AND kind = ANY (ARRAY(SELECT jsonb_array_elements_text(:kinds::jsonb)))
  AND position >= :since AND retired_by = 0 AND owner = :owner
ORDER BY position, behind, id

-- name: newest_mark
SELECT id, origin, kind, position, text, made_by, at, seen, of, after, behind FROM mark
WHERE branch = :branch AND kind = :kind AND retired_by = 0 AND owner = :owner
ORDER BY position DESC, behind DESC, id DESC LIMIT 1 OFFSET :number

-- name: count_marks
SELECT count(DISTINCT position) FROM mark
WHERE branch = :branch AND kind = :kind AND position BETWEEN 0 AND :through AND retired_by = 0
  AND owner = :owner

-- name: insert_mark
INSERT INTO mark (owner, story, branch, origin, kind, position, text, made_by, at, seen, of, after, behind,
                  retired_by)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id

-- Versions and cover

-- name: insert_version
INSERT INTO version (owner, story, kind, scope, first, last, length, key, before, replaces, text, carry, status,
                     made_by, reason, at, model, prompt_hash, calls, input_tokens, output_tokens, shed, unverified,
                     anchor, reach, commitments, firm, first_digest)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
RETURNING id

-- name: notes
SELECT id, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, model,
       prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, firm, first_digest
FROM version
WHERE story = :story AND kind = :kind AND scope = :scope
  AND first_digest = ANY (ARRAY(SELECT decode(jsonb_array_elements_text(:firsts::jsonb), 'hex')))
  AND first_digest <> ''::bytea AND status IN ('committed', 'provisional') AND owner = :owner
ORDER BY id

-- name: built_on
WITH RECURSIVE built (id) AS (
    SELECT id FROM version WHERE id = :version AND story = :story AND owner = :owner
    UNION
    SELECT v.id FROM built JOIN version v ON v.story = :story AND v.before = built.id AND v.owner = :owner
)
SELECT id FROM built ORDER BY id

-- name: links_after
SELECT id, length, key, kind, scope, firm FROM version
WHERE story = :story AND before = :before AND status IN ('committed', 'provisional') AND owner = :owner
ORDER BY id

-- name: own_links
SELECT DISTINCT before, first, scope FROM version
WHERE story = :story AND scope >= '@' AND scope < 'A' AND last >= :depth AND last < :length AND first <= :depth
  AND status IN ('committed', 'provisional') AND owner = :owner

-- name: cover_of_kind
SELECT first, last, version, scope FROM cover
WHERE line = :line AND kind = :kind AND last BETWEEN :first AND :last AND firm >= :firm
  AND owner = :owner

-- name: inherit_cover
INSERT INTO cover (owner, line, kind, scope, first, last, version, firm)
SELECT owner, :to_line, kind, scope, first, last, version, firm FROM cover
WHERE line = :from_line AND last <= :last AND owner = :owner
ON CONFLICT DO NOTHING

-- One step after another, each by its index: a limit keeps the planner from beginning with all versions.

-- name: furthest_live
SELECT a.number, c.first, c.last, v.*
FROM (
    SELECT value ->> 0 AS scope, least((value ->> 1)::bigint, :last) AS last, (value ->> 2)::bigint AS number,
           (value ->> 3)::bigint AS origin
    FROM jsonb_array_elements(:asked::jsonb)
) a CROSS JOIN LATERAL (
    SELECT first, last, version FROM cover
    WHERE line = :line AND kind = :kind AND scope = a.scope AND last <= a.last AND firm >= :firm
      AND owner = :owner
    ORDER BY last DESC, version DESC LIMIT 1
) c CROSS JOIN LATERAL (
    SELECT id, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, model,
           prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, firm, first_digest
    FROM version WHERE id = c.version AND owner = :owner LIMIT 1
) v
WHERE CASE WHEN a.origin = 0 THEN true ELSE (
    SELECT origin FROM mark WHERE branch = :branch AND origin = a.origin AND retired_by = 0 AND owner = :owner
) IS NOT NULL END

-- name: spent
SELECT coalesce(sum(calls), 0)::bigint, coalesce(sum(input_tokens), 0)::bigint, coalesce(sum(output_tokens), 0)::bigint
FROM version WHERE owner = :owner AND at >= :since AND calls > 0

-- name: spent_by_story
SELECT story, count(CASE WHEN kind <> 'question' THEN 1 END), coalesce(sum(CASE WHEN calls > 0 THEN calls END), 0)::bigint,
       coalesce(sum(CASE WHEN calls > 0 THEN input_tokens END), 0)::bigint,
       coalesce(sum(CASE WHEN calls > 0 THEN output_tokens END), 0)::bigint
FROM version WHERE owner = :owner GROUP BY story

-- name: take_lease
INSERT INTO lease (owner, story, work, holder, until) VALUES (:owner, :story, :work, :holder, :until)
ON CONFLICT (owner, story, work) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE lease.holder = excluded.holder OR lease.until <= :now

-- Views

-- name: insert_epoch
INSERT INTO epoch (owner, story, digest, text) VALUES (:owner, :story, :digest, :text)
RETURNING id

-- name: insert_recipe
INSERT INTO recipe (owner, story, reader, asked, node, position, before_tail, epoch, body, at)
VALUES (:owner, :story, :reader, :asked, :node, :position, :before_tail, :epoch, :body, :at)
RETURNING id

-- name: recipes
SELECT r.reader, r.asked, r.node, r.position, r.before_tail, e.text, r.body, r.at
FROM recipe r JOIN epoch e ON e.id = r.epoch
WHERE r.story = :story AND md5(r.reader) = md5(:reader) AND r.position BETWEEN :first AND :last AND r.owner = :owner AND r.asked = :asked
ORDER BY r.position DESC, r.id DESC LIMIT :most

-- name: recipes_of_reader
SELECT r.reader, r.asked, r.node, r.position, r.before_tail, e.text, r.body, r.at
FROM recipe r JOIN epoch e ON e.id = r.epoch
WHERE r.story = :story AND md5(r.reader) = md5(:reader) AND r.position BETWEEN :first AND :last AND r.owner = :owner
ORDER BY r.position DESC, r.id DESC LIMIT :most

-- name: witnessed_entry
SELECT 1 FROM entry WHERE story = :story AND witnesses IS NOT NULL AND owner = :owner LIMIT 1

-- Recall

-- name: entries_to_index
SELECT id, role, speaker, text, parts, witnesses, digest, at, source_id, extra, hidden, replaces
FROM entry
WHERE story = :story AND id > :after AND forgotten = 0 AND owner = :owner ORDER BY id LIMIT :most

-- name: count_to_index
SELECT count(*) FROM (SELECT 1 FROM entry
                      WHERE story = :story AND id > :after AND forgotten = 0 AND owner = :owner LIMIT :most) waiting

-- name: append_posting
INSERT INTO recall_posting (owner, story, block, term, data) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (story, term, block) DO UPDATE SET data = recall_posting.data || excluded.data
WHERE recall_posting.owner = excluded.owner

-- name: append_facts
INSERT INTO recall_fact (owner, story, block, data) VALUES (?, ?, ?, ?)
ON CONFLICT (story, block) DO UPDATE SET data = recall_fact.data || excluded.data
WHERE recall_fact.owner = excluded.owner

-- name: postings
SELECT term, block, data FROM recall_posting
WHERE story = :story AND term = ANY (ARRAY(SELECT jsonb_array_elements_text(:terms::jsonb)))
  AND block BETWEEN :first AND :last AND owner = :owner

-- name: vectors
SELECT entry, data FROM recall_vector
WHERE story = :story AND entry = ANY (ARRAY(SELECT jsonb_array_elements_text(:entries::jsonb)::bigint))
  AND entry <= :last AND owner = :owner

-- name: delete_silent_speakers
DELETE FROM recall_speaker WHERE story = :story AND owner = :owner
  AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.story = :story AND e.id <= :through AND e.speaker COLLATE "C" = recall_speaker.name
                  AND e.owner = :owner)

-- Checking: what is stored beside what it is derived from

-- name: check_entries
SELECT e.id, e.role, e.speaker, e.text, e.parts, e.witnesses, e.digest, e.at, e.source_id, e.extra, e.hidden,
       e.replaces, e.match_key, r.story
FROM entry e LEFT JOIN entry r ON r.id = e.replaces AND r.owner = :owner
WHERE e.id IN (SELECT jsonb_array_elements_text(:ids::jsonb)::bigint) AND e.story = :story AND e.owner = :owner

-- name: check_run
WITH RECURSIVE up (parent, entry, number) AS (
    SELECT parent, entry, 1::bigint FROM node WHERE id = :node AND story = :story AND owner = :owner
    UNION ALL
    SELECT n.parent, n.entry, up.number + 1 FROM up JOIN node n ON n.id = up.parent AND n.owner = :owner
    WHERE up.number < :most
)
SELECT e.digest FROM up JOIN entry e ON e.id = up.entry ORDER BY up.number DESC

-- name: silent_speakers
SELECT s.name FROM recall_speaker s WHERE s.story = :story AND s.owner = :owner
  AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.story = :story AND e.speaker COLLATE "C" = s.name AND e.owner = :owner)
ORDER BY s.name

-- name: check_strays
SELECT t.what, t.row, t.story, CASE WHEN s.id IS NULL THEN 0 ELSE t.branch END
FROM (
    SELECT 'branch' AS what, name::text AS row, story, 0 AS branch FROM branch WHERE owner = :owner
    UNION ALL SELECT 'line', id::text, story, 0 FROM line WHERE owner = :owner
    UNION ALL SELECT 'version', id::text, story, 0 FROM version WHERE owner = :owner
    UNION ALL SELECT 'mark', id::text, story, branch FROM mark WHERE owner = :owner
    UNION ALL SELECT 'move', id::text, story, 0 FROM move WHERE owner = :owner
    UNION ALL SELECT 'receipt', key, story, 0 FROM receipt WHERE owner = :owner
    UNION ALL SELECT 'lease', work, story, 0 FROM lease WHERE owner = :owner
    UNION ALL SELECT 'attached book', name, story, 0 FROM story_book WHERE owner = :owner
    UNION ALL SELECT 'index', story::text, story, 0 FROM recall_state WHERE owner = :owner
    UNION ALL SELECT DISTINCT 'postings', story::text, story, 0 FROM recall_posting WHERE owner = :owner
    UNION ALL SELECT DISTINCT 'facts', story::text, story, 0 FROM recall_fact WHERE owner = :owner
    UNION ALL SELECT DISTINCT 'vectors', story::text, story, 0 FROM recall_vector WHERE owner = :owner
    UNION ALL SELECT DISTINCT 'speakers', story::text, story, 0 FROM recall_speaker WHERE owner = :owner
    UNION ALL SELECT DISTINCT 'answers', story::text, story, 0 FROM answer WHERE owner = :owner
) t LEFT JOIN story s ON s.id = t.story AND s.owner = :owner
    LEFT JOIN branch b ON b.id = t.branch AND b.owner = :owner
WHERE s.id IS NULL OR (t.branch <> 0 AND b.id IS NULL) LIMIT :most

-- Forgetting

-- name: nodes_with_hash
SELECT entry FROM node WHERE story = :story AND owner = :owner AND hash IN (SELECT decode(jsonb_array_elements_text(:hashes::jsonb), 'hex'))

-- name: nodes_from
WITH RECURSIVE below (id) AS (
    SELECT id FROM node WHERE story = :story AND owner = :owner AND entry IN (SELECT jsonb_array_elements_text(:entries::jsonb)::bigint)
    UNION
    SELECT n.id FROM below JOIN node n ON n.story = :story AND n.parent = below.id AND n.owner = :owner
)
SELECT n.id, n.parent, p.hash, e.digest, n.entry, n.hash
FROM below JOIN node n ON n.id = below.id JOIN entry e ON e.id = n.entry LEFT JOIN node p ON p.id = n.parent
ORDER BY n.depth

-- name: forget_version
UPDATE version SET status = 'forgotten', text = '', carry = '', reason = '', key = ''::bytea, shed = '[]', unverified = '[]',
                   commitments = '[]', first_digest = ''::bytea
WHERE id = ? AND owner = ?

-- name: forget_key
UPDATE version SET key = ''::bytea, first_digest = ''::bytea WHERE id = ? AND owner = ?

-- Recognition

-- name: stories_holding
SELECT DISTINCT e.story, s.name, e.match_key
FROM entry e JOIN story s ON s.id = e.story AND s.owner = e.owner
WHERE e.owner = :owner
  AND e.match_key = ANY (ARRAY(SELECT decode(jsonb_array_elements_text(:keys::jsonb), 'hex')))
LIMIT :most
