package corpus

import "math/rand/v2"

// Weather generates weather reports of about size characters, the same for the same seed on every machine: a text that is
// nothing like a play, in characters that tinyshakespeare and the stand-in have, for a model of theirs to be tuned on.
func Weather(seed uint64, size int) string {
	w := writer{grammar: read(elements, reports), rng: rand.New(rand.NewPCG(seed, 0))}
	for w.text.Len() < size {
		if w.text.Len() > 0 {
			w.text.WriteString("\n")
		}
		w.expand("<report>")
	}
	return w.text.String()
}

const reports = `
<report>    1 weather for <town> , <hour> : / <wind.line> . / <sky.line> . / <air.line> . <tail>
<tail>      5 $ | 2 / <sea.line> . $ | 1 / warning : <danger> ! $ | 1 / outlook : <later> . $
<wind.line> 6 <force> wind from the <quarter> <turn> | 2 winds light and variable <turn> | 1 calm at first , then <force> wind from the <quarter>
<turn>      4 <when> | 3 , backing <quarter> <when> | 3 , veering <quarter> <when>
<sky.line>  4 <cover> with <wet> <when> | 3 <cover> at first , clearing from the <quarter> <when> | 3 mostly <cover> , dry <where>
<air.line>  4 highest temperature <number> degrees , lowest <number> | 3 temperature near <number> degrees , pressure <trend> | 2 frost <where> , <number> degrees <when>
<sea.line>  3 sea <state> , visibility <sight> | 1 tide high <when> , sea <state>
<danger>    3 gale force <number> <when> | 2 ice on roads <where> | 2 fog <where> <when>
<later>     3 <cover> and <trend> <when> | 2 little change <where>
<number>    1 <ten> | 2 <unit>
`

const elements = `
<town>    Westport Northfield Eastham Southwold Kingsbridge Highcliff Longbay Oldhaven Redmouth Stonebeck Wintermere Zealby
<hour>    midnight dawn morning noon evening tonight tomorrow Monday Tuesday Wednesday Thursday Friday Saturday Sunday
<force>   light gentle moderate fresh strong severe
<quarter> north northeast east southeast south southwest west northwest
<when>    early later overnight soon briefly throughout
<where>   inland everywhere locally offshore elsewhere
<cover>   overcast cloudy hazy sunny dull bright
<wet>     rain drizzle showers sleet snow hail
<trend>   rising falling steady
<state>   smooth slight rough choppy
<sight>   good poor fair excellent
<ten>     ten twenty thirty
<unit>    one two three four five six seven eight nine eleven twelve fifteen eighteen
`
