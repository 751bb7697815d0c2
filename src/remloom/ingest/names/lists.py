"""English word lists that tell names from other capitalised words, and kinds of names from each
other."""

from __future__ import annotations

__all__ = [
    "CONNECTORS", "DEMONYMS", "EVENT_HEADS", "GIVEN_NAMES", "NOBLE_TITLES", "OFFICES", "ORDINARY", "ORGANIZATION_HEADS",
    "PLACES", "PLACE_HEADS", "PLURAL_OWNERS", "STOP_WORDS", "TITLES", "split",
]  # fmt: skip


def split(text: str) -> frozenset[str]:
    """The words of a list written as one text."""
    return frozenset(text.split())


def _names(text: str) -> frozenset[str]:
    return frozenset(" ".join(name.split()) for name in text.split(","))


# Words that begin sentences or are capitalised for other reasons than being a name (lower case).
STOP_WORDS = split(
    """
    a about above according across actually after afterwards again against ago ah all almost alone along already also
    although altogether always am amid among an and another any anybody anyone anything anyway apart apparently april
    are around as aside ask at august away awesome back based basically be because become before beginning behind being
    below beneath besides best better between beyond big both bottom bring briefly but by bye can call certainly
    chapter check clearly come compare concerning congrats congratulations consequently consider could cool currently
    day days dear december definitely despite did do does doing done down due during each earlier early eight eighteen
    eighth eighty either eleven else elsewhere eleventh email empty end enough especially essentially even eventually
    every everybody everyone everything everywhere exactly example except exciting eventual facing false fantastic far
    february few fifteen fifth fifty figure finally find fine first five following follows for former formerly forty
    four fourteen fourth friday from further furthermore generally get give given glad go going gonna gotta good
    goodbye got great guess had haha half happy hardly has have having he hello hence her here hereby hers herself hey
    hi him himself his historically hmm hope hopefully how however hundred i idea if immediately important in including
    increasingly indeed initially inside instead into is it its itself january july june just keep kind know last
    lastly late later lately latter least left less lest let lets like likewise listen little lol long look looking lot
    lots love made maintaining make making many march may maybe me mean meanwhile might million mine mm moreover monday
    month months more morning most mostly much must my myself namely near nearly need neither never nevertheless new
    next nice night nine nineteen ninety ninth no nobody none nonetheless nor normally not note nothing notwithstanding
    november now nowhere number numerous obviously october of off official often oh ok okay old omg on once one ones
    only onto open opposite or originally other others otherwise our ours ourselves out outside over overall own part
    particularly per perhaps please plus possibly pretty previous previously prior probably put quite rather re read
    ready really reasonable recall recent recently regarding regardless remember right round said same saturday save
    say second section see seeing seen sees seemingly send september set seven seventeen seventh seventy several shall
    she should show similar similarly simply since six sixteen sixth sixty slightly so some somebody somehow someone
    something sometimes somewhat somewhere soon sorry sounds special specifically start still subsequently such
    suddenly sunday super supposedly sure sweet table take taken taking talk tell ten tenth than thank thanks that the
    their theirs them themselves then there thereafter thereby therefore these they thing things think third thirteen
    thirty this those though thought three through throughout thursday thus till time times to today together tomorrow
    tonight too took top total totally toward towards traditionally true truly try trying tuesday twelfth twelve
    twentieth twenty twice two typically ugh ultimately under underneath unfortunately unless unlike until unto up upon
    us use used using usually various version very via vs wait wanna want was way we wednesday week weeks well went
    were what whatever when whenever where whereas whereby wherever whether which while who whoever whole whom whose
    why will wish with within without wonderful work would wow yeah year years yep yes yesterday yet yo you your yours
    yourself yourselves yup zero additional added changed deprecated fixed returns raises parameters arguments
    attributes todo faq appendix contents index introduction overview summary conclusion references notes warning tip
    caution page line lines item items i'm i've i'd i'll it's that's don't let's you're we're they're he's she's
    there's what's who's can't won't isn't doesn't didn't couldn't wouldn't shouldn't haven't hasn't hadn't aren't
    wasn't weren't fri mon tue tues wed thu thurs sat sun btw fyi lmk imo idk tbh asap whoa woohoo yay absolutely
    amazing awww aww run switch becoming finding realizing knowing known barring offline online self-help
    """
)

# Between the words of a name. "of" and "and" have rules of their own.
CONNECTORS = split(
    "de del della di da do dos du des la le los las von van der den zu zur bin ibn al el y e ter ten af"
)

# Before a person's name and no part of it (lower case, without the dot).
TITLES = split(
    """
    mr mrs ms miss mx dr doctor prof professor rev reverend president vice-president ex-president senator sen
    representative rep congressman congresswoman governor gov mayor secretary undersecretary ambassador minister consul
    chancellor premier general gen lieutenant lt colonel col major maj captain capt commander cmdr admiral adm
    commodore sergeant sgt corporal private marshal field chairman chairwoman chair director judge justice attorney
    commissioner envoy delegate chief officer inspector detective coach nurse ceo cto cfo brother sister father mother
    uncle aunt comrade president-elect presidents generals senators ministers secretaries ambassadors general-secretary
    diplomat inventor historian journalist advisor adviser coordinator negotiator administrator leader congressmen
    chairperson founder owner engineer spokesman spokeswoman spokesperson mediator publisher author
    """
)

# Before a name and felt to be part of it: kept where only one more word follows.
NOBLE_TITLES = split(
    """
    sir lord lady dame king queen prince princess emperor empress tsar czar kaiser sultan shah pope cardinal bishop
    archbishop saint count countess comte comtesse duke duchess baron baroness marquis marquess viscount earl dey bey
    pasha khan dowager chevalier don doña father mother brother sister
    """
)

# "Secretary of State", "Chairman of the Joint Chiefs": what follows "of" after a title is an
# office, not a place.
OFFICES = split(
    "state war defense defence treasury navy commerce labor labour interior justice education energy agriculture staff"
    " health foreign affairs finance chiefs joint parliament congress house senate board human services housing urban"
    " welfare science technology culture trade industry amity friendship navigation cooperation research budget"
)

# Possessives that begin names: "People's Republic".
PLURAL_OWNERS = split(
    "people people's women women's men men's children children's workers veterans citizens farmers writers"
)

ORGANIZATION_HEADS = split(
    """
    academy administration agency alliance army assembly association authority bank board brigade bureau bundestag
    cabinet center centre church circle club coalition college commission committee community companies company
    congress consortium co corp corporation corps council court department directorate duma embassy enterprise
    federation firm force forces foundation front fund gmbh government group guard hospital house inc industries
    institute institution junta kuomintang league legislature library llc ltd ministry mission museum navy network
    office organisation organization parliament partners partnership party police press secretariat section senate
    service services society staff studio syndicate team treasury tribunal trust union universities university usaid
    gazette times post herald tribune journal newspaper magazine airlines airways motors systems software labs
    laboratory laboratories studios confederation confederacy exchange fleet politburo reichstag knesset directory
    quartet
    """
)

PLACE_HEADS = split(
    """
    avenue basin bay beach bluff bridge canal cape city coast colony county creek delta desert district fort forest
    gulf harbor harbour heights highlands hill hills island islands isle isles isthmus lake lakes land mount mountain
    mountains oasis ocean park pass peninsula plain plains plateau port prairie province quay region ridge rio river
    road sea shore sound square station strait straits street territories territory town valley village peaks airport
    archipelago gate lane republic kingdom state states empire commonwealth dominion hemisphere
    """
)

EVENT_HEADS = split(
    """
    accord accords act acts affair agreement agreements amendment battle blockade bill campaign charter code compact
    conference conferences constitution convention crisis day debate declaration doctrine edict election embargo era
    expedition exposition incident initiative law laws massacre memorandum movement negotiations note notes offensive
    olympics operation order pact papers plan plans plot policy proclamation program programme protocol purchase raid
    rebellion reform reforms report resolution revolt revolution riots round scandal settlement siege speech statute
    strategy strike summit talks tariff telegram theory treaties treaty trial trials uprising war wars festival
    compromise points corollary cession boom depression renaissance guide handbook manual
    """
)

DEMONYMS = split(
    """
    afghan african africans albanian algerian american americans angolan arab arabs argentine argentinian armenian
    asian asians australian austrian azerbaijani bangladeshi belgian bolivian bosnian brazilian british briton britons
    bulgarian burmese cambodian canadian canadians catholic catholics caribbean chechen cherokee chilean chinese
    christian christians colombian colonial communist communists confederate congolese creole croatian cuban cubans
    czech danish democrat democratic democrats dominican dutch egyptian english englishmen estonian ethiopian european
    europeans federalist federalists filipino filipinos finnish french frenchmen georgian german germans ghanaian greek
    greeks guatemalan haitian hawaiian hebrew hispanic hungarian icelandic incan indian indians indonesian iranian
    iraqi irish islamic israeli israelis italian italians jamaican japanese jew jewish jews jordanian kenyan korean
    koreans kurdish kuwaiti laotian latin latvian lebanese liberian libyan lithuanian malaysian marxist mexican
    mexicans mongolian moroccan muslim muslims nazi nazis nicaraguan nigerian nordic norwegian ottoman pakistani
    palestinian palestinians panamanian persian peruvian philippine polish portuguese protestant prussian republican
    republicans roman romanian russian russians saudi scandinavian scottish serbian siberian slavic somali soviet
    soviets spaniard spaniards spanish sudanese swedish swiss syrian taiwanese thai tibetan tunisian turkish turks
    ugandan ukrainian u.s. us venezuelan vietnamese welsh western westerners whig whigs yugoslav zionist allied allies
    congressional presidential west south north east eastern northern southern southerners northerners anglo-american
    """
)

PLACES = _names(
    """
    Afghanistan, Africa, Alabama, Alaska, Albania, Alberta, Algeria, Algiers, America, Amsterdam, Angola, Ankara,
    Antarctica, Argentina, Arizona, Arkansas, Armenia, Asia, Athens, Atlanta, Auckland, Australia, Austria, Azerbaijan,
    Baghdad, Bahamas, Bahrain, Baltimore, Bangkok, Bangladesh, Barbados, Barcelona, Bavaria, Beijing, Beirut, Belarus,
    Belgium, Belgrade, Belize, Bengaluru, Benin, Berlin, Bermuda, Bern, Bhutan, Bogotá, Bolivia, Bombay, Bonn, Bosnia,
    Boston, Botswana, Brasília, Brazil, Brisbane, Britain, British Columbia, Brussels, Bucharest, Budapest, Buenos
    Aires, Bulgaria, Burma, Burundi, Cairo, Calcutta, California, Cambodia, Cameroon, Canada, Canberra, Canton,
    Caracas, Catalonia, Chad, Charleston, Chicago, Chile, China, Cologne, Colombia, Colorado, Congo, Connecticut,
    Copenhagen, Costa Rica, Crete, Crimea, Croatia, Cuba, Cyprus, Czechoslovakia, Dakar, Dallas, Damascus, Delaware,
    Delhi, Denmark, Denver, Detroit, Djibouti, Dominican Republic, Dubai, Dublin, Ecuador, Edinburgh, Egypt, El
    Salvador, England, Eritrea, Estonia, Ethiopia, Europe, Finland, Florence, Florida, Formosa, France, Frankfurt,
    Gaza, Geneva, Genoa, Georgia, Germany, Ghana, Gibraltar, Glasgow, Great Britain, Greece, Greenland, Grenada, Guam,
    Guangzhou, Guatemala, Guinea, Guyana, Haiti, Hamburg, Hanoi, Havana, Hawaii, Helsinki, Hiroshima, Ho Chi Minh City,
    Holland, Honduras, Hong Kong, Houston, Hungary, Iceland, Idaho, Illinois, India, Indiana, Indochina, Indonesia,
    Iowa, Iran, Iraq, Ireland, Islamabad, Israel, Istanbul, Italy, Ivory Coast, Jakarta, Jamaica, Japan, Jerusalem,
    Johannesburg, Jordan, Kabul, Kansas, Karachi, Kashmir, Kazakhstan, Kentucky, Kenya, Kinshasa, Korea, Kosovo, Kuala
    Lumpur, Kuwait, Kyiv, Kyoto, Kyrgyzstan, Lagos, Laos, Latin America, Latvia, Lebanon, Leningrad, Liberia, Libya,
    Lima, Lisbon, Lithuania, London, Los Angeles, Louisiana, Luxembourg, Macau, Macedonia, Madagascar, Madrid, Maine,
    Malawi, Malaysia, Mali, Malta, Manchester, Manchuria, Manila, Maryland, Massachusetts, Mauritania, Mauritius,
    Melbourne, Mexico, Mexico City, Miami, Michigan, Middle East, Milan, Milwaukee, Minnesota, Mississippi, Missouri,
    Moldova, Monaco, Mongolia, Montana, Montenegro, Montreal, Morocco, Moscow, Mozambique, Mumbai, Munich, Myanmar,
    Nagasaki, Nairobi, Namibia, Nanjing, Naples, Nebraska, Nepal, Netherlands, Nevada, New Delhi, New England, New
    Hampshire, New Jersey, New Mexico, New Orleans, New York, New York City, New Zealand, Newfoundland, Nicaragua,
    Niger, Nigeria, Normandy, North America, North Carolina, North Dakota, North Korea, Norway, Nova Scotia, Ohio,
    Oklahoma, Okinawa, Oman, Ontario, Oregon, Osaka, Oslo, Ottawa, Oxford, Pakistan, Palestine, Panama, Paraguay,
    Paris, Peking, Pennsylvania, Persia, Peru, Philadelphia, Philippines, Phoenix, Pittsburgh, Poland, Porto, Portugal,
    Potsdam, Prague, Pretoria, Prussia, Puerto Rico, Pyongyang, Qatar, Quebec, Rhode Island, Rhodesia, Richmond, Riga,
    Rio de Janeiro, Riyadh, Romania, Rome, Rotterdam, Russia, Rwanda, Saigon, Salvador, Samoa, San Diego, San
    Francisco, Santiago, Santo Domingo, São Paulo, Sarajevo, Saudi Arabia, Scandinavia, Scotland, Seattle, Senegal,
    Seoul, Serbia, Shanghai, Siberia, Sicily, Sierra Leone, Singapore, Slovakia, Slovenia, Sofia, Somalia, South
    Africa, South America, South Carolina, South Dakota, South Korea, Soviet Union, Spain, Sri Lanka, St. Louis, St.
    Petersburg, Stockholm, Sudan, Sudetenland, Suriname, Sweden, Switzerland, Sydney, Syria, Taipei, Taiwan,
    Tajikistan, Tallinn, Tanzania, Tasmania, Tehran, Tel Aviv, Tennessee, Texas, Thailand, Tianjin, Tibet, Togo, Tokyo,
    Toronto, Trieste, Trinidad, Tripoli, Tunis, Tunisia, Turkey, Turkmenistan, U.S.S.R., USA, USSR, Uganda, Ukraine,
    United Arab Emirates, United Kingdom, United States, United States of America, Uruguay, Utah, Uzbekistan,
    Vancouver, Vatican, Venezuela, Venice, Vermont, Versailles, Vienna, Vietnam, Vilnius, Virginia, Wales, Warsaw,
    Washington, West Africa, West Indies, West Virginia, Western Europe, Eastern Europe, Central America, Central
    Europe, Wisconsin, Wyoming, Yalta, Yemen, Yugoslavia, Zaire, Zambia, Zanzibar, Zimbabwe, Zurich, Pacific, Atlantic,
    Caribbean, Mediterranean, Balkans, Caucasus, Southeast Asia, East Asia, Central Asia, Far East, Near East, North
    Africa
    """
)

GIVEN_NAMES = split(
    """
    Aaron Abigail Abraham Adam Adrian Ahmed Aisha Alan Albert Alberto Alejandro Alex Alexander Alexandra Alfred Alice
    Allison Amanda Amy Ana Andrea Andrew Andrey Angela Anna Anne Anthony Antonio Anwar Arthur Ashley Augustus Barbara
    Benjamin Bernard Beth Bill Bob Boris Brandon Brian Bruce Carl Carla Carlos Carmen Carol Caroline Catherine Charles
    Charlotte Chen Chester Chris Christian Christina Christine Christopher Claire Clara Cordell Cyrus Daniel Daniela
    David Dean Deborah Dennis Diana Diego Dmitri Don Donald Dorothy Douglas Dwight Edmond Edmund Edward Edwin Elbridge
    Eleanor Elena Elihu Elisabeth Elizabeth Ella Ellen Emily Emma Eric Erik Ernest Eugene Eva Evan Evelyn Felix Femke
    Fernando Fidel Francis Francisco Frank Franklin Frederick Gabriel Gary George Georges Gerald Gideon Gilbert Gina
    Giovanni Grace Greg Gregory Grover Hannah Harold Harry Hassan Heather Helen Henri Henry Herbert Howard Hugo Ian
    Ibrahim Igor Ingrid Irene Isaac Isabel Ivan Jack Jacob James Jan Jane Janet Jason Jean Jeff Jefferson Jeffrey
    Jennifer Jeremy Jessica Jill Jim Jimmy Joan Joe Joel Johan Johann John Jon Jonas Jonathan Jorge Jose Josef José
    Joseph Joshua Juan Julia Julian Julie Julius Justin Karen Karin Karl Kate Katherine Kathleen Keith Kelly Kenneth
    Kevin Kim Kofi Kyle Larry Lars Laura Lauren Lawrence Lee Leo Leon Leonard Leonid Leopold Levi Lewis Lily Linda Lisa
    Liam Louis Louise Lucas Lucy Luis Luke Lyndon Madeleine Manuel Marco Marcus Margaret Maria Marie Mario Mark Martha
    Martin Mary Matthew Matías Maurice Max Maximilian Megan Mehmet Melanie Melissa Michael Michelle Miguel Mikhail Mike
    Mohamed Mohammed Monica Muhammad Nancy Napoleon Narciso Natalie Nathan Neil Nelson Nicholas Nick Nicole Nikita Nina
    Noah Nora Norman Olga Oliver Olivia Omar Oscar Otto Pablo Pamela Patricia Patrick Paul Paula Pedro Peter Philip
    Philippe Pierre Priya Rachel Rafael Rajesh Ralph Raymond Rebecca Richard Rita Robert Roberto Roger Ronald Rosa Rose
    Roy Rui Russell Ruth Ryan Sally Sam Samantha Samuel Sandra Sara Sarah Scott Sean Sebastian Sergei Sergio Sharon
    Silas Simon Sofia Sophie Stanley Stephanie Stephen Steve Steven Stuart Susan Sylvia Tanya Ted Teresa Terry Theodore
    Thomas Tim Timothy Tina Tobias Tom Tomás Tony Tyler Ulysses Victor Victoria Vincent Virginia Vladimir Walter Warren
    Wei Wendy William Winfield Winston Woodrow Yann Yasmin Anatoly Saddam Mahmoud Marta Inês Aoife Nadia Leila Fatima
    Hamid Ravi Anil Sanjay Sunita Deepak Arjun Kenji Hiroshi Takeshi Haruki Akira Ming Xiao Jun Mei Ling Hui Sergey
    Svetlana Natasha Tatiana Oksana Vyacheslav Jules Lázaro Helmut Konrad Willy Klaus Jürgen Hans Heinrich Wilhelm
    Fritz Gustav Ludwig Ferdinand Franz Friedrich Emil Anastasio Augusto Salvador Raúl Ernesto Javier Santiago Joaquín
    Cristina Lucia Giulia Giuseppe Matteo Luca Alessandro Francesca Silvia Paolo Pietro Vernon Aristide Bashir Amin
    Yasser Yitzhak Ariel Menachem Golda Moshe Josip Slobodan Vaclav Lech Zoltan Imre Janos Desmond Thabo Kwame Patrice
    Holden Idi Haile Boutros Shinzo Hideki Aung Yuki Yusuf Zachary Zbigniew Zoe
    """
)

# Words that are names of people, companies, products and projects too, and mostly none (lower
# case).
ORDINARY = STOP_WORDS | split(
    """
    ace active adapt air alert alpha amber amp anchor angel apple arc arch archer art artist aspect atlas aurora baker
    bank bar base basic bath bay beam bear beat bell bench berry beta bill bird bishop black blaze block bloom blue boat
    bold bolt bond book boot box brand brave bread brick bridge bright brook brown buck bud buffer bug bull bush butler
    cafe camp candy cape captain carbon card care carter case cash castle cat chain chamber champion chance change
    charge
    charm chase chat check chef chess chip christian circle city claim clark clay clear click cliff climb clip clock
    close cloud club coach coal coast code coin cold cole command common compass concord connect cook copper coral core
    cotton course court cover craft crane cream creek crew crisp cross crow crown crystal cube current cut cycle dale
    dance dash data dawn deal dean decision deck deep deer delta den desk dice dig direct discovery dock doctor dollar
    door dot dove draft dragon dream drew drift drive drop duke dusk eagle earl earth east echo eclipse edge edition
    element elm ember energy engine enterprise entity epic era essence event ever exact exchange expert express eye
    fabric face fact faith falcon fall farm fast faith fawn fence field file film fin finch fire firm fish fisher flag
    flame flash flask fleet flex flint flip float flow flower fluid fly focus fold forest forge form fort fortune forum
    forward foster foundation fox frame frank freedom fresh front frost fuel full fuse future galaxy game gap garden
    gate gear gem general genius gift glass globe gold grace grain grant graph grass gray green grid grip ground group
    grove guard guide gulf gun hall hammer hand harbor hardy hark harmony hat haven hawk hay head heart heath heather
    heaven helix help herb heritage hero hill hive holly home honey hook hope horizon horn horse host hound house hub
    hunt hunter ice icon image impact impulse ink insight inspire instant iris iron ivy jack jade jay jet joy judge jump
    junction juniper junior jury justice key king kite kiln knight lake lamb lamp lance land lane lark laser launch
    laurel law layer lead leaf lean leap ledger legend lens level lever liberty life light lily limit linear link lion
    liquid list live lock loft logic loop lotus lucky lumen lunar magic magnet mail manor map maple marble mark marker
    market marsh mason master match matter maverick max meadow media medium member memory mercury merit mesh meta meter
    metro mill mind mint mirror mission mobile mode model modern moment monitor moon moore mosaic motion mount mountain
    move music nature nest net network nexus nickel noble node north notion nova number oak oasis oat object ocean olive
    onyx opal open optic oracle orange orbit orchard order origin osprey outlook owl oxygen pace pack pad page paint
    palace palm panda panel panther paper parade parallel park parker part pass patch path pay peace peak pearl pepper
    perfect phase phoenix photo piano pilot pine pink pioneer pipe pitch pixel place plain plan planet plant plate play
    plaza point polish pool pope port post potter pound power practice prairie present press price pride prime prince
    print priest prism prize process product profile program progress project promise proof pulse pump punch purple
    python quest quick quiet race radar rain rainbow random range rapid raven ray reach react reading reality rebel
    record red reed reef relay relic rely report rescue reserve resource rice rich ridge ring rise river road robin rock
    rocket rod rose round route row royal ruby rule rush rust sage sail salt sand sandy satin scale scope score scout
    screen script sea seal search season seed sense sentry sequence service shadow shape share shark sharp shell shield
    shift ship shop shore shot sierra signal silk silver simple site sketch skill sky slack slate smart smith smoke snap
    snow social solid solo solution song sonic sound source south space spark spear spectrum speed sphere spike spin
    spirit spot spring sprint square squad stack staff stage star state station stay steel stem step sterling stone
    storm story strand strategy stream street stride strike string stripe strong studio style sue summer summit sun
    surf surface swan swift switch symbol sync system tank tap target task taylor team tech temple term terra test tiger
    tile timber title toast tool torch touch tower town track trade trail train transit tree trend tribe trip true trust
    tune turkey turn twin twist union unit united unity universe upper urban value van vault vector velvet venture verse
    victor view villa vine violet virgin vision vista vital voice volt voyage walker wall ward wave way web west whale
    wheel white wild wind window wing winter wire wise wolf wood word work world worth yard yellow young zebra zen zone
    zoom
    """
)
