package corpus

// lexicon lists words by part of speech, mostly short ones, all of a list
// equally likely. Persons, beasts, things and verbs take a plain s, and what may
// follow "a" begins with a consonant.
const lexicon = `
<person>    maid nun bard thane squire monk clerk smith cook groom friar lord lad scout crook rogue knave fool
            sage seer scribe duke nurse guest host rider rower sower mower piper diver baker tailor cooper
            tanner potter mason miner hunter trader beggar singer dancer widow cousin twin son bride vicar dean
            pilot porter ranger reeve butler hermit jester juror lawyer lancer lover mayor mime miser pedlar
            poet rebel rival saint scamp tutor valet warden judge king queen
<beast>     dog cat cow hen ram sow bull goat hare mule crow rook hawk dove swan duck lamb pig rat mole toad
            frog carp pike bear stag bee wasp moth snail crab raven swift gull wren robin hound colt foal boar
            newt
<nature>    wind rain sun moon tide storm frost snow hail fog mist dawn dusk noon night fire smoke flood wave
            cloud star sky sea brook creek dew heat spring summer winter gale sleet
<thing>     cup jug pot pan bowl plate spoon ladle fork lamp wick rope knot net hook nail saw drill file rake
            spade hoe cart wheel gate door lock key bell drum flute harp horn pipe ring pin comb cap coat cloak
            shirt glove boot belt purse coin crown sword shield spear bow map book page pen scroll quill seal
            mast sail keel raft boat tent stool chair bed quilt broom pail loom tub keg barrel lantern jar vase
            vial bag bat bin can card cane chip clip cord cork crate dart deck dial dome fan fig flag flask gem
            gown hat hood hose kite lid log mat mug nut peg pill plum pod rag rod rug sack sock tack tile toy
            tray veil vest wand whip wig yoke
<place>     mill barn well yard lane road bridge ford weir pond lake marsh moor heath hill cliff cave glen dale
            wood grove field farm fort keep tower hall court chapel vault crypt dock pier quay port bay bog
            shore beach dune mine forge shop stall square market tavern cellar loft stair porch garden park
            vineyard
<idea>      hope fear love hate grief joy pride shame guilt greed envy wrath faith trust truth doubt mercy war
            luck fate time death life sleep youth age debt law work rest wit sense pity zeal thirst hunger
            honour glory fame ease bliss chaos dread gloom gold havoc heat lore lust magic might music rage ruin
            sin skill sloth thrift toil wealth woe
<adj>       good bad cold warm hot wet dry big small tall short long thin fat deep high low dark pale grey red
            blue green brown black white gold dull bright sharp blunt soft hard rough smooth loud shy bold brave
            meek mild wild tame kind cruel fair foul fresh stale sweet sour salt raw ripe rich poor proud sad
            glad mad calm keen lame blind deaf numb weak strong quick slow new rare plain fine grand vast worn
            torn bent lost cheap dear sly grim bleak stern stout lean young weary hollow silver curt daft dank
            dim dire drab fit flat fond frail full glum gaunt hale hoarse huge lax lush mute neat prim pure rash
            rude sane safe sore spry squat stiff tart taut tidy trim vain vile wan wee wide wry zany
<do>        love hate fear like need want keep hold lend sell seek find lose hide mend break burn drop lift pull
            drag heap bring send take leave meet greet help save feed lead join call name know mark doubt trust
            dread blame mock scorn curse thank praise serve guard guide warn charm cheat rob spare grasp clean
            paint carve follow cover wrap trade steal haunt fight shun beat hit kick bite lick cut dig eat hug
            aid ask bait bar bid cage cast cure dare dodge dupe face fan fool halt heed irk jab jail lure maim
            nip oust owe pat pay poke rub sack shoo stab tap tease tie tip trip tug woo yank
<go>        sleep wake dream sing dance laugh weep sigh yawn sneeze cough kneel bow sit stand walk run leap swim
            float sink fall rise wait rest work toil sweat dine drink swear speak whisper mutter grumble shout
            moan wander stumble tremble shiver limp act age bob fret nap pant pray play roam rot skip slip snore
            spin stray sulk trot
<blow>      rise fall fade burn glow swell roar howl wait turn return gather linger end begin sink drift creep
<bark>      bark bleat howl growl snarl graze drink feed sleep limp hop crawl swim sing wait bleed yawn
<stand>     lie lean hang rust gleam shine rot creak rattle stand wait rest crack leak fall burn
<rule>      rule bind blind wound heal change break bend burn drown chain haunt mislead tame weaken cheat
<be>        ready wrong lost alone awake drunk merry guilty idle wise sick safe dead born here gone late early
            right asleep near free bound hungry thirsty sober
<manner>    slowly softly gladly always never seldom often truly badly sadly boldly madly twice once well ill
            alike together quietly
<when>      tonight tomorrow again now soon today still
<near>      by in on at near past from over under behind beyond to
<friend>    good dear noble gentle honest old sweet worthy kind cruel poor young
<count>     two three four five six seven eight nine ten twelve twenty forty
`

// cast lists who speaks, each with an oath of his own.
const cast = `
Miller: by flour and stone
Weaver: by warp and weft
Bargee: by my father's oar
Quarrier: by dust and chalk
Roper: by hemp and tar
Vintner: by this red cask
Zealot: by my bare feet
First Spy: by spur and helm
Second Spy: by jowl and halberd
Judge: by the sealed book
Nurse: by salt and linen
Usher: by staff and carpet
Young Exile: by the far shore
Old Exile: by my ninety-nine years
King: by this crown
Queen: by my wax and ink
`
