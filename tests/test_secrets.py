"""Secrets are found and masked; ordinary talk of passwords, numbers and keys is left as it is."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remloom.text.secrets import find_secrets, mask

# put together here, so that no scanner takes this file for a leak
HEX = "0123456789abcdef" * 4
MIXED = "aB3dE5gH7jK9mN1pQ2sT4vW6xY8z" * 4
UPPER = "A2B3C4D5E6F7G2H3J4K5L6M7N2P3" * 4
PLANTED = [
    ("AWS key", "AKIA" + UPPER[:16]),
    ("AWS key", "ASIA" + UPPER[:16]),
    ("GitHub token", "ghp_" + MIXED[:36]),
    ("GitHub token", "github_pat_" + MIXED[:22] + "_" + MIXED[:59]),
    ("GitLab token", "glpat-" + MIXED[:20]),
    ("Slack token", "xoxb-" + "123456789012-" * 2 + MIXED[:24]),
    ("Slack webhook", "https://hooks.slack.com/services/T0000/B0000/" + MIXED[:24]),
    ("Discord webhook", "https://discord.com/api/webhooks/123456789012/" + MIXED[:68]),
    ("Stripe key", "sk_live_" + MIXED[:24]),
    ("Stripe key", "whsec_" + MIXED[:32]),
    ("Anthropic key", "sk-ant-api03-" + MIXED[:93] + "AA"),
    ("OpenRouter key", "sk-or-v1-" + HEX),
    ("OpenAI key", "sk-" + MIXED[:48]),
    ("OpenAI key", "sk-proj-" + MIXED[:60] + "_-" + MIXED[:60]),
    ("Google key", "AIza" + MIXED[:35]),
    ("Google token", "ya29." + MIXED[:60]),
    ("Google client secret", "GOCSPX-" + MIXED[:28]),
    ("Hugging Face token", "hf_" + MIXED[:34]),
    ("npm token", "npm_" + MIXED[:36]),
    ("PyPI token", "pypi-AgE" + MIXED[:80]),
    ("JSON web token", f"eyJ{MIXED[:20]}.eyJ{MIXED[:40]}.{MIXED[:43]}"),
    ("SendGrid key", f"SG.{MIXED[:22]}.{MIXED[:43]}"),
    ("Twilio key", "SK" + HEX[:32]),
    ("Mailgun key", "key-" + HEX[:32]),
    ("DigitalOcean token", "dop_v1_" + HEX),
    ("Shopify token", "shpat_" + HEX[:32]),
    ("Square token", "sq0atp-" + MIXED[:22]),
    ("Linear key", "lin_api_" + MIXED[:40]),
    ("Notion token", "ntn_" + MIXED[:46]),
    ("Figma token", "figd_" + MIXED[:40]),
    ("Databricks token", "dapi" + HEX[:32]),
    ("Grafana token", "glsa_" + MIXED[:32] + "_" + HEX[:8]),
    ("Grafana token", "glc_" + MIXED[:90] + "=="),
    ("Doppler token", "dp.pt." + MIXED[:43]),
    ("Vault token", "hvs." + MIXED[:90]),
    ("Postman key", f"PMAK-{HEX[:24]}-{HEX[:34]}"),
    ("Groq key", "gsk_" + MIXED[:52]),
    ("Replicate token", "r8_" + MIXED[:37]),
    ("Perplexity key", "pplx-" + MIXED[:48]),
    ("xAI key", "xai-" + MIXED[:80]),
    ("Tavily key", "tvly-dev-" + MIXED[:32]),
    ("LangSmith key", "lsv2_pt_" + HEX[:32] + "_" + HEX[:10]),
    ("Supabase token", "sbp_" + HEX[:40]),
    ("New Relic key", "NRAK-" + UPPER[:27]),
    ("PlanetScale token", "pscale_tkn_" + MIXED[:43]),
    ("Atlassian token", "ATATT3" + MIXED[:100] + "=" + UPPER[:8]),
    ("Docker token", "dckr_pat_" + MIXED[:27]),
    ("Sentry token", "sntrys_" + MIXED[:100]),
    ("age key", "AGE-SECRET-KEY-1" + UPPER[:58]),
    ("Azure storage key", "AccountKey=" + MIXED[:86] + "=="),
    ("Telegram token", "123456789:AA" + MIXED[:33]),
    ("private key", f"-----BEGIN RSA PRIVATE KEY-----\n{MIXED}\n-----END RSA PRIVATE KEY-----"),
    ("private key", f"-----BEGIN PRIVATE KEY-----\n{MIXED}\n{MIXED}"),
    ("card number", "4111 1111 1111 1111"),
    ("card number", "5500-0055-5555-5559"),
    ("card number", "378282246310005"),
    ("IBAN", "DE89 3704 0044 0532 0130 00"),
    ("IBAN", "GB82WEST12345698765432"),
    ("IBAN", "NO93 8601 1117 947"),
    ("social security number", "078-05-1120"),
]
# what is said around a secret, which stands between braces
SAID = [
    ("password", "my password is {hunter2}, please keep it"),
    ("password", "My Netflix password is {swordfish}."),
    ("password", "the wifi password for the guest room is {BlueWhale}"),
    ("password", "Password: {tr0ub4dor&3}"),
    ("password", "DB_PASSWORD={s3cr3t!x}"),
    ("password", 'login(user="bob", password="{letmein}")'),
    ("password", 'the passphrase is "{correct horse battery}"'),
    ("password", "username: bob password: {hunter22} host: x"),
    ("password", "mein Passwort lautet {Sommer2020}!"),
    ("password", "mot de passe : {Soleil99}"),
    ("password", "la contraseña es {Luna-2031}"),
    ("password", "我的密码是{abc12345}。谢谢"),
    ("password", "postgres://app:{pa55word}@db.internal/crm"),
    ("PIN", "the PIN for my card is {4821}"),
    ("PIN", "pin: {0000}"),
    ("key", f"our api key is {{{MIXED[:20]}}}"),
    ("key", f"AWS_SECRET_ACCESS_KEY={{{MIXED[:40]}}}"),
    ("key", f'client_secret: "{{{MIXED[:32]}}}"'),
    ("bearer token", f"curl -H 'Authorization: Bearer {{{MIXED[:40]}}}'"),
]
ORDINARY = """\
I forgot my password again, how do I reset it?
My password is wrong, it says.
My password is not working since the update
the password is required for login
password must be at least 8 characters
Password: str = Field(min_length=8)
password = input("Password: ")
password = getpass.getpass()
password=os.environ["DB_PASSWORD"]
password: ${DB_PASSWORD}
password=self.password
password: <your-password>
password = "your_password_here"
Is my password safe with 1Password?
What is a good passphrase? The passphrase is like a long password.
My password was leaked, what now?
How many tokens is 4096 words? The token limit is 128000 for this model.
The api key is stored in the environment, never in the code.
access_token: str | None = None
token = tokenizer.encode(text)
secret: kubernetes.core/v1
The secret is to add a little salt at the end.
Pin the version to 1234 in requirements
Pinot noir from 2015, my pin board, bobby pins
The PIN code of my area is 560001
My order number is 4111 1111 1111 1112
Call me at +1 415 555 2671 or 0170 1234567
Serial number 1234-5678-9012-3456
The ISBN is 978-3-16-148410-0
Tracking 9400110200881234567890
Timestamp 1704448800000 and id 1754000000000000000
commit 3f786850e387550fdab836ed7e6dc881de23001b
md5 d41d8cd98f00b204e9800998ecf8427e
uuid 123e4567-e89b-12d3-a456-426614174000
I use scikit-learn, sk-learn for short, and sk-image-processing-of-microscopy-data
The hf_hub_download function of huggingface_hub
https://example.com:8080/path?x=1@home
mailto:anna@example.org and ssh://git@github.com/x/y.git
http://localhost:3000 and http://user@host/
DE89 is a flight to Berlin, GB82 one to London
SKU AC1234, SG.5, key-value stores, npm_config_registry
It rained on 2031-05-11 and 123-45-678 people came
000-12-3456 and 666-12-3456 are no such numbers
Bearer tokens are sent in the Authorization header.
The word password is overused, and so is token.
0000 0000 0000 0000 is a placeholder
4.111111111111111 is a ratio
-----BEGIN PUBLIC KEY-----
"""


@pytest.mark.parametrize(("kind", "secret"), PLANTED, ids=lambda value: value[:24])
def test_a_planted_secret_is_found_from_its_first_to_its_last_character(
    kind: str, secret: str
) -> None:
    before = "Here it is: "
    text = f"{before}{secret}, and more."
    assert find_secrets(text)[0] == (kind, len(before), len(before) + len(secret))
    # lines are cited as before
    masked = f"[secret: {kind}]" + "\n" * secret.count("\n")
    assert mask(text) == (f"{before}{masked}, and more.", 1)
    assert mask(secret) == (masked, 1)


def test_there_are_thirty_kinds_and_more() -> None:
    assert len({kind for kind, _ in PLANTED + SAID}) >= 50


@pytest.mark.parametrize(("kind", "said"), SAID, ids=lambda value: value[:24])
def test_what_somebody_calls_a_secret_is_masked(kind: str, said: str) -> None:
    start, end = said.index("{"), said.index("}")
    text = said[:start] + said[start + 1 : end] + said[end + 1 :]
    assert mask(text) == (f"{said[:start]}[secret: {kind}]{said[end + 1 :]}", 1)


@pytest.mark.parametrize("line", ORDINARY.splitlines())
def test_ordinary_talk_is_left_as_it_is(line: str) -> None:
    assert mask(line) == (line, 0)


def test_several_secrets_in_one_text_are_masked_each() -> None:
    text = "\n".join(f"{number}. {secret}" for number, (_, secret) in enumerate(PLANTED))
    masked, count = mask(text)
    assert count == len(PLANTED)
    assert masked.count("\n") == text.count("\n")
    assert [line for line in masked.splitlines() if line] == [
        f"{number}. [secret: {kind}]" for number, (kind, _) in enumerate(PLANTED)
    ]


def test_characters_that_grow_in_lower_case_do_not_shift_a_secret() -> None:
    assert mask("İİİ my password is hunter2")[0] == "İİİ my password is [secret: password]"


_pieces = st.sampled_from(
    [secret for _, secret in PLANTED]
    + [said.replace("{", "").replace("}", "") for _, said in SAID]
    + [" ", "\n", "-", "_", ":", "=", "'", '"', "password", "token is ", "[secret: ", "my ", "a1"]
)


@given(st.lists(_pieces | st.text(max_size=6), max_size=8).map("".join))
def test_masking_what_is_masked_changes_nothing(text: str) -> None:
    masked, count = mask(text)
    assert mask(masked) == (masked, 0)
    assert (count == 0) == (masked == text)


@given(st.text())
def test_secrets_stand_in_their_order_and_apart(text: str) -> None:
    end = 0
    for secret in find_secrets(text):
        assert end <= secret.start < secret.end <= len(text)
        end = secret.end


@pytest.mark.parametrize(
    "part",
    [
        *("password ", "my my ", "password:'", "token:", "pin a b ", "1 ", "4111", "DE89 ", "DE89"),
        *("eyJ", "-eyJ", "eyJaaaaaaaa.", "://", "://a:", "-----BEGIN PRIVATE KEY-----", "Bearer "),
        *(
            "-----BEGIN PRIVATE KEY-----\nAAAA",
            "9:AA",
            " ",
            "-",
            "sk-",
            "[secret: ",
            "密码是",
            "my ",
        ),
    ],
)
def test_the_time_grows_with_the_length_and_not_with_its_square(part: str) -> None:
    def seconds(length: int) -> float:
        text = (part * (length // len(part) + 1))[:length]
        start = time.process_time()
        find_secrets(text)
        return time.process_time() - start

    # a square would take 64 times as long
    shorter, longer = (min(seconds(length) for _ in range(3)) for length in (20_000, 160_000))
    assert longer < 32 * max(shorter, 0.002)
