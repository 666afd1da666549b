"""Secrets are taken out by their shape; what only looks odd stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.folds.conversation.secrets import redact
from tests.effort import cases

A_KEY = "a1B2c3D4e5F6g7H8i9J0k1L2"

SECRETS = [
    (f"sk-ant-api03-{A_KEY}", "[redacted api key]"),
    (f"sk-proj-{A_KEY}", "[redacted api key]"),
    (f"key is sk-{A_KEY}.", "key is [redacted api key]."),
    (f"sk_live_{A_KEY}", "[redacted api key]"),
    (f"ghp_{A_KEY}{A_KEY}", "[redacted api key]"),
    (f"github_pat_{A_KEY}_{A_KEY}", "[redacted api key]"),
    (f"glpat-{A_KEY}", "[redacted api key]"),
    ("AKIA" + "ABCDEFGH12345678", "[redacted api key]"),
    ("xoxb-123456789012-" + A_KEY, "[redacted api key]"),
    ("AIza" + A_KEY + "abcdefghijk", "[redacted api key]"),
    (f"hf_{A_KEY}", "[redacted api key]"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "[redacted token]"),
    (
        "a\n-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENC\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----\nb",
        "a\n[redacted private key]\nb",
    ),
    ("-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEAabcd\nand then", "[redacted private key]and then"),
    (f"Authorization: Bearer {A_KEY}", "Authorization: Bearer [redacted token]"),
    ("Authorization: Basic dXNlcjpodW50ZXIy", "Authorization: Basic [redacted token]"),
    ("password=hunter2", "password=[redacted password]"),
    ("PASSWORD=letmein", "PASSWORD=[redacted password]"),
    ("mysql --password letmein db", "mysql --password [redacted password] db"),
    ('{"password": "letmein!"}', '{"password": "[redacted password]"}'),
    (r"{\"password\": \"hunter2\"}", r"{\"password\": \"[redacted password]\"}"),
    ("DB_PASS='s3cret'", "DB_PASS='[redacted password]'"),
    ("my password is hunter2.", "my password is [redacted password]."),
    ("Passwort: geheim1", "Passwort: [redacted password]"),
    ("token: abc123def456", "token: [redacted token]"),
    ("export API_KEY=abcd1234efgh", "export API_KEY=[redacted secret]"),
    ("'api_key' => 'abcd1234efgh'", "'api_key' => '[redacted secret]'"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYabc", "aws_secret_access_key = [redacted secret]"),
    ("postgres://bob:s3cr3t@db:5432/x", "postgres://bob:[redacted password]@db:5432/x"),
    (f'key = "{A_KEY}"', 'key = "[redacted secret]"'),
    (
        "AccountName=x;AccountKey=/b1C2d3E4f5==;EndpointSuffix=core.windows.net",
        "AccountName=x;AccountKey=[redacted secret];EndpointSuffix=core.windows.net",
    ),
    ("Server=a;Password=P4ss!w0rd;Database=x", "Server=a;Password=[redacted password];Database=x"),
    ("User Id=a;Pwd=letmein;Initial Catalog=x", "User Id=a;Pwd=[redacted password];Initial Catalog=x"),
    (
        "Password=P4ss!w0rd;SharedAccessKey=abcd1234efgh;",
        "Password=[redacted password];SharedAccessKey=[redacted secret];",
    ),
    ("curl -u admin:abcd1234efgh5678 https://a.b/c", "curl -u admin:[redacted password] https://a.b/c"),
    ("curl -s --user 'admin:letmein' a.b", "curl -s --user 'admin:[redacted password]' a.b"),
    ("http-tool --user=bob:abcd1234", "http-tool --user=bob:[redacted password]"),
    ("mysql -uroot -pS3cr3t shop", "mysql -uroot -p[redacted password] shop"),
    ("docker exec db mysqldump -h db -p'letmein' shop", "docker exec db mysqldump -h db -p'[redacted password]' shop"),
    ("sshpass -p S3cr3t ssh a@b", "sshpass -p [redacted password] ssh a@b"),
    ("sshpass -p'letmein' ssh a@b", "sshpass -p'[redacted password]' ssh a@b"),
    ("machine x.org login y password abc123", "machine x.org login y password [redacted password]"),
    ("machine x.org\n  login y\n  password letmein\n", "machine x.org\n  login y\n  password [redacted password]\n"),
    ("Password: swordfish", "Password: [redacted password]"),
    ("User: bob\nPassword: swordfish\nPort: 80", "User: bob\nPassword: [redacted password]\nPort: 80"),
    ('password="a b c 1"', 'password="[redacted password]"'),
    (r"{\"password\": \"a b c 1\"}", r"{\"password\": \"[redacted password]\"}"),
    ('password: "hunter2 for now"', 'password: "[redacted password] for now"'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SECRETS)
def test_a_secret_is_replaced_by_its_kind(text: str, expected: str) -> None:
    assert redact(text) == expected
    assert redact(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "commit 4239607aa1b2c3d4e5f60718293a4b5c6d7e8f90",
        "550e8400-e29b-41d4-a716-446655440000",
        "token: 550e8400-e29b-41d4-a716-446655440000",
        "/usr/lib/python3.11/secrets.py:120",
        "secret: config/secrets2.yml",
        "def login(user: str, password: str) -> None",
        "token = get_token()",
        "self.token = token",
        "max_tokens: 4096, tokens: 12345",
        "password=None, password=args.password",
        "connect(user=u, password=pw_value, x=1)",
        'api_key=os.environ["API_KEY"]',
        "password=$DB_PASSWORD",
        "password: <your password>",
        "PASSWORD=changeme",
        "the token was abc12345",
        "SyntaxError: Unexpected token < in JSON at position 3",
        "sk-loading-indicator-wrapper-large",
        "src/token/parser2.py",
        "key: value123",
        "cache_key: sha256:abcdef0123456789abcdef0123456789abcdef",
        "password is required",
        "https://github.com/owner/repo@v1.2",
        "http://localhost:8080/path",
        "[image/png, 12,345 characters]",
        "grep -n 'BEGIN PRIVATE KEY' docs/*.md",
        "Bearer authentication-middleware",
        "PASS: tests/test_one1.py",
        "password: see the vault",
        "Password: check the vault",
        "Password: incorrect",
        "Password: hashed,",
        "userPassword: hash",
        "password: string",
        "Password: String!",
        "password = get_password()",
        "password=get_password();x=1",
        "password=elem;token=t;",
        '"password": "Please enter your new one"',
        'password: "Must be at least 8 characters"',
        '{"token": "Your code 12 has expired"}',
        "ssh -p 8080 host",
        "docker run -p 8080:80 mysql",
        "docker run -p8080:80 mysql",
        "mysql -p shop",
        "mysql -u root -P3306 shop",
        "mysql -p$MYSQL_PASSWORD shop",
        "mkdir -p src/new && git log -p",
        "mysql -e 'select 1' && mkdir -pv a1",
        "docker run -u 1000:1000 image",
        "docker run --user node:node image",
        "curl -u $USER:$TOKEN https://a.b",
        "git push -u origin HEAD:main",
        "Run `curl -u name:password` and `mysql -ppassword`.",
        "the login form has a password field",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


PIECES = st.sampled_from(
    [text for text, _ in SECRETS]
    + ["password", "=", ": ", '"', "'", "\\", "token", "://", "a:b@", "eyJ", ".", "-----BEGIN PRIVATE KEY-----", "\n"]
    + ["[", "]", " "]
)  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=10), max_size=12).map("".join))
@settings(max_examples=cases(200))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        "eyJ-", "eyJa.", "-----BEGIN PRIVATE KEY-----", "a", "A1", "password ", 'password=\\"', "://a:", "sk-", "-",
        "bearer ", "\n", "key:", "AKIA", "a1B2", "xox", "'", "api ", "mysql -h db -p abc1 -pabcdef ",
        "-u a:", " -u a:b", "sshpass -p ",
        "machine x ", "default login x ", 'password="a ', "Password: a;", "curl -s -u abcdef:ghijkl ", "password=abcd;",
    ],
)  # fmt: skip
def test_hostile_input_is_read_in_one_go(piece: str) -> None:
    """A pattern that searched again and again would not come back from this."""
    text = piece * (300_000 // len(piece))
    assert len(redact(text)) <= 2 * len(text)
