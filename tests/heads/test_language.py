"""The language of a text: named where what people say in it is not heard, and no alarm where it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from training.heard import heard_languages
from training.texts import languages

from remloom.heads.features import spelling
from remloom.heads.head import ANOTHER, head, unheard_language
from remloom.heads.head import HEARD as HEARD_LABEL

# None of these stands in training/texts. A language that is added since is left out: a language
# that is heard has no name among the labels.
UNHEARD = {
    "Italian": [
        "da quando è nata la piccola dormo quattro ore per notte",
        "Lavoro in una tipografia di Ancona e la domenica vado a pesca con mio fratello",
        "non sopporto chi parla al telefono sul treno",
        "mi spieghi come si toglie la ruggine dalla bicicletta di mio nonno?",
    ],
    "Portuguese": [
        "Trabalho num lagar de azeite perto de Mirandela há quase vinte anos",
        "não aguento mais o barulho da obra aqui ao lado",
        "a minha filha mais nova não pode comer nada com glúten",
        "Você consegue me ajudar a escrever um recado para o síndico?",
    ],
    "Dutch": [
        "Sinds mijn scheiding woon ik met twee katten op een woonboot in Zwolle",
        "ik kan echt niet tegen mensen die te laat komen",
        "Hoe krijg ik die vlekken van rode wijn uit het tafelkleed?",
        "mijn vader was vroeger bakker en ik sta zelf ook elke ochtend om vijf uur op",
    ],
    "Polish": [
        "Od trzech lat uczę się grać na akordeonie i sąsiedzi już mnie nie znoszą",
        "nie jem mięsa odkąd skończyłem liceum",
        "Jak usunąć pleśń z łazienki bez okna?",
        "moja żona pracuje na nocne zmiany, więc wieczorami gotuję sam",
    ],
    "Swedish": [
        "Jag har jobbat som snickare i Umeå sedan jag slutade skolan",
        "min dotter tål inte nötter så vi bakar alltid utan",
        "Hur får man bort kåda från en ylletröja?",
        "jag avskyr att prata i telefon, skriv hellre",
    ],
    "Czech": [
        "Bydlím s rodiči v malém domku u Olomouce a chovám včely",
        "nesnáším, když někdo v kině šustí pytlíkem",
        "Můžeš mi prosím poradit, jak vyčistit starý koberec?",
        "manžel nesmí mléko, tak vaříme všechno bez něj",
    ],
    "Turkish": [
        "On iki yıldır Eskişehir'de öğretmenlik yapıyorum ve iki köpeğim var",
        "kahve içemiyorum, hemen çarpıntım tutuyor",
        "Bu akşam misafir gelecek, ne pişirsem acaba?",
        "telefonda konuşmayı hiç sevmem, bana mesaj yaz lütfen",
    ],
    "Hungarian": [
        "Tizenöt éve tanítok éneket egy szegedi iskolában",
        "nem bírom, ha valaki hangosan rágózik mellettem a buszon",
        "Hogyan lehet kiszedni a viaszt az abroszból?",
        "a kisebbik lányom nem ehet tejterméket, mindig külön főzök neki",
    ],
    "Finnish": [
        "Olen asunut Kuopiossa koko ikäni ja soitan haitaria kirkossa",
        "en voi sietää, kun joku puhuu puhelimeen hiljaisessa vaunussa",
        "Miten saan tervan irti lapsen uusista housuista?",
        "poikani ei siedä kananmunaa, joten leivomme aina ilman",
    ],
    "Russian": [
        "Я двадцать лет вожу трамвай в Казани и ни разу не опоздала",
        "терпеть не могу, когда мне звонят до завтрака",
        "Чем отмыть смолу с детской куртки?",
        "у сына непереносимость молока, готовим всё на воде",
    ],
    "Greek": [
        "Δουλεύω σε τυπογραφείο στον Βόλο εδώ και δεκαπέντε χρόνια",
        "δεν αντέχω όσους μιλάνε δυνατά στο λεωφορείο",
        "Πώς βγαίνει το κερί από το τραπεζομάντιλο;",
    ],
    "Arabic": [
        "أعمل نجارا في حلب منذ عشرين سنة وعندي قطتان",
        "لا أطيق من يتحدث بصوت عال في الحافلة",
        "كيف أزيل بقع الشمع عن مفرش الطاولة؟",
    ],
    "Japanese": [
        "金沢の印刷所で二十年ほど働いていて、猫を二匹飼っています",
        "電車の中で電話する人が本当に苦手なんです",
        "テーブルクロスについた蝋はどうやって取ればいいですか",
    ],
    "Chinese": [
        "我在成都的一家印刷厂工作了二十年,家里养了两只猫",
        "我特别受不了在地铁上大声打电话的人",
        "桌布上的蜡油怎么才能弄干净,试了很多办法都不行",
    ],
    "Korean": [
        "전주에서 이십 년째 인쇄소를 하고 있고 고양이를 두 마리 키워요",
        "버스에서 큰 소리로 통화하는 사람은 정말 못 참겠어요",
        "식탁보에 묻은 촛농은 어떻게 지우나요?",
    ],
}
HEARD = [
    "I've driven the school bus in Oban since the ferry line closed",
    "My grandmother's gnocchi recipe needs no egg, and I make it every Sunday in Trieste",
    "can u fix this pls, it keeps crashing on startup",
    "the Kowalskis next door, Grażyna and Zbigniew, lent us their ladder",
    "How long do I boil udon, and is shichimi the same as togarashi?",
    "och aye, it's baltic oot there the day",
    "ain't nobody got time for that lol",
    "Seit der Trennung wohne ich mit zwei Katzen auf einem Hausboot in Leer",
    "i hob koa Auto ned, i fahr ollaweil mitm Radl",
    "Kannst du mir bitte den Entwurf für die Hausordnung glätten?",
    "Meine Schwiegermutter macht Ćevapčići und Ajvar selbst, mir ist das zu scharf",
    "weiß jmd wie man wachs aus ner tischdecke kriegt",
    "Llevo veinte años arreglando relojes en Cuenca y no me canso",
    "che boludo, me olvidé las llaves otra vez en el laburo",
    "¿Cómo quito la cera del mantel de mi abuela?",
    "no aguanto a la gente que habla a gritos en el autobús",
    "Soy de Lugo pero llevo media vida en Vigo vendiendo pulpo",
    "Je répare des accordéons à Tulle depuis que mon père a pris sa retraite",
    "jsp frère il m'a même pas répondu",
    "Comment enlever la cire d'une nappe en lin ?",
    "Ma voisine Małgorzata m'a appris à faire des pierogi aux myrtilles",
    "j'peux pas sentir les gens qui téléphonent dans le tram",
]
# of no language, of too little, or of several
ODD = [
    "", " ", "ok", "lol", "hahahaha", "ja", "no", "😀🎉🎉🎉", "12.5 % / 40 000", "?!?!",
    "Giovanni Rossi, Via Garibaldi 12, Ancona",
    "Grzegorz Brzęczyszczykiewicz, Łękołody",
    "Erdoğan, Yılmaz, Çelik & Öztürk",
    "Dvořák, Smetana, Janáček, Martinů",
    "Reykjavík Kraków İzmir Malmö Győr",
    "https://www.corriere.it/cronaca/oggi/la-notizia-del-giorno",
    "for i in range(10): print(i, end=' ')",
    "SELECT name, total FROM orders WHERE total > 40 ORDER BY name",
    "sudo apt-get install -y libssl-dev && make test",
    "def saluda(nombre):\n    return f'hola {nombre}'",
    "\ud800 \udfff", "\x00\x01", "a" * 5_000,
    "gracias, danke, merci, thanks a lot to all of you!",
]  # fmt: skip


def test_nine_of_ten_sentences_in_other_languages_are_noticed_and_hardly_any_is_misnamed() -> None:
    names = UNHEARD.keys() & head("language").labels
    named = [(name, unheard_language(text)) for name in names for text in UNHEARD[name]]
    missed = [name for name, found in named if not found]
    wrong = [(name, found) for name, found in named if found not in ("", ANOTHER, name)]
    assert len(missed) <= 0.1 * len(named), missed
    assert len(wrong) <= 0.05 * len(named), wrong


@pytest.mark.parametrize("text", HEARD)
def test_what_is_heard_is_no_other_language(text: str) -> None:
    assert unheard_language(text) == ""


@pytest.mark.parametrize("text", ODD)
def test_what_is_hardly_text_is_of_no_language(text: str) -> None:
    assert unheard_language(text) == ""


def test_a_text_in_capitals_has_a_language_too() -> None:
    for text in UNHEARD["Italian"]:
        assert unheard_language(text.upper()) == "Italian"
    for text in HEARD:
        assert unheard_language(text.upper()) == ""


def test_a_script_that_no_text_is_in_is_another_language() -> None:
    assert unheard_language("მე თბილისში ვცხოვრობ და მასწავლებლად ვმუშაობ") == ANOTHER


@given(st.text(max_size=700))
def test_any_text_has_a_language_or_none(text: str) -> None:
    assert unheard_language(text) in {"", ANOTHER, *head("language").labels}


def test_names_do_not_count_for_a_language() -> None:
    assert list(spelling("Łódź Öztürk")) == list(spelling(""))


def test_what_is_heard_is_what_training_found_good_enough() -> None:
    heard = {label for label in head("language").labels if label.startswith(HEARD_LABEL)}
    assert heard == {f"{HEARD_LABEL}{language}" for language in heard_languages()}
    assert heard_languages() <= set(languages("turns"))


def test_the_head_that_is_asked_by_its_name_sees_the_same() -> None:
    words = UNHEARD["Italian"][1]
    decision = head("language").decide(words)
    assert decision == head("language").decide_by(spelling(words))
    assert head("language").reasons(words, decision.label)
