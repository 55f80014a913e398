package corpus

import "strings"

// rules is the grammar of a speech. A line gives a category and its
// alternatives, each with its weight; "/" ends a line of verse and "$" the
// speech, [listener] and [oath] are names that the dialogue fills in, and
// <word>s is <word> with an s.
//
// No two alternatives of a category can begin with the same word, and none is
// empty (it is LL(1)), so whoever reads the text knows every choice from the
// word it led to: a text has one derivation, and its probability is the product
// of the choices in it.
const rules = `
<speech>    9 <verse> | 1 <friend> [listener] , <aside> <verse> | 1 [oath] , / <verse> | 1 o [listener] , / <verse>
<aside>     3 / | 1 I say , / | 1 hear me : /
<verse>     8 <single> | 4 <many> | 2 <asking> | 2 <order> | 2 if <cond> | 2 when <cond> | 1 alas , <woe>
<end>       7 . <more> | 2 ! <more> | 4 , / <joined> | 2 ; / <contrast> | 1 : / <single>
<more>      3 $ | 7 / <verse>
<joined>    5 and <clause> | 3 but <clause> | 2 for <clause> | 2 while <clause> | 1 till <clause> | 1 where <clause>
<contrast>  3 yet <clause> | 2 then <clause> | 2 so <clause>
<clause>    3 <single> | 2 <many>
<cond>      5 <det> <if.one> | 3 we <act> , / <clause> | 2 they <act> , / <clause> | 2 you <act> , / <clause>
<if.one>    8 <adj> <if.who> | 2 <if.who>
<if.who>    4 <person> <if.does> | 2 <beast> <if.does> | 2 <nature> <blow>s , / <clause> | 2 <thing> <stand>s , / <clause>
<if.does>   2 is <be> , / <clause> | 3 <go>s <where> , / <clause> | 3 <do>s <object> , / <clause>

<det>       4 the | 3 a | 4 my | 3 thy | 4 his | 4 her | 3 our | 3 your | 3 their | 3 this | 3 that | 2 one | 2 each | 2 no | 2 any | 2 some
<single>    9 <det> <subject> | 1 he <does> | 1 she <does> | 2 <idea> <rules> | 1 there is <nothing>
<subject>   8 <adj> <agent> | 2 <agent>
<agent>     5 <person> <does> | 3 <beast> <barks> | 4 <nature> <blows> | 4 <thing> <stands>
<does>      7 <do>s <object> <end> | 4 <go>s <where> <end> | 1 will <deed> <end> | 1 is <state> | 1 must <deed> <end>
<barks>     4 <bark>s <where> <end> | 1 is <state>
<blows>     4 <blow>s <where> <end> | 1 will <blow> <where> <end> | 1 is <adj> <end>
<stands>    4 <stand>s <where> <end> | 1 is <adj> <end>
<rules>     4 <rule>s <object> <end> | 1 is <adj> <end> | 1 will <rule> <object> <end>
<nothing>   1 no <idea> <where> <end> | 1 a <thing> <where> <end>
<state>     4 <be> <end> | 1 not <be> <end> | 1 too <adj> <end>

<many>      5 I <acts> | 4 we <acts> | 4 you <acts> | 4 they <acts> | 3 <count> <crowd>
<crowd>     8 <adj> <people> | 2 <people>
<people>    3 <person>s <acts> | 2 <beast>s <acts>
<acts>      8 <act> <end> | 1 have <object> <end>
<act>       6 <do> <object> | 3 <go> <where> | 1 will <deed> | 1 cannot <deed> | 1 must <deed>
<deed>      3 <do> <object> | 2 <go> <where>
<object>    9 <det> <goods> | 1 him | 1 me | 2 <idea> | 3 <count> <wares>
<goods>     8 <adj> <ware> | 2 <ware>
<ware>      5 <thing> | 3 <person> | 2 <beast>
<wares>     8 <adj> <thing>s | 2 <thing>s
<where>     8 <near> <det> <site> | 1 <manner> | 1 <when> | 1 without <idea> | 1 like a <likeness> | 1 with <company>
<site>      7 <adj> <place> | 3 <place>
<likeness>  8 <adj> <creature> | 2 <creature>
<creature>  2 <person> | 3 <beast>
<company>   4 <det> <fellow> | 1 <count> <adj> <person>s
<fellow>    8 <adj> <person> | 2 <person>

<asking>    3 why <do.you> | 2 where <do.you> | 3 who <does.it> | 1 what <idea> <rule>s <whom>
            | 2 shall <we> | 2 how <adj> <is.it>
<do.you>    2 do <you> | 2 does <the.one> | 1 must <you>
<you>       3 you <query> | 2 we <query> | 2 they <query>
<we>        2 I <query> | 3 we <query>
<the.one>   5 <det> <one.who> | 1 he <query> | 1 she <query>
<one.who>   8 <adj> <person> <query> | 2 <person> <query>
<query>     3 <do> <whom> | 2 <go> <place.q>
<does.it>   3 <do>s <whom> | 2 <go>s <place.q> | 1 is <be> ? <more>
<is.it>     2 is <det> <nature> ? <more> | 1 are we ? <more>
<whom>      6 <det> <who.q> | 1 me ? <more> | 1 us ? <more> | 1 thee ? <more>
<who.q>     8 <adj> <what.q> | 2 <what.q>
<what.q>    3 <person> ? <more> | 4 <thing> ? <more>
<place.q>   5 <near> <det> <place> ? <more> | 1 <when> ? <more> | 1 alone ? <more>

<order>     3 come , <order.2> | 2 go , <order.2> | 1 speak , [listener] , / <clause> | 3 let us <deed> <end>
            | 1 peace , [listener] ! <more> | 1 farewell , <leave>
<order.2>   4 <do> <object> <end> | 1 <go> <where> <end>
<leave>     2 my <adj> <person> ! <more> | 1 [listener] ! <more>
<woe>       1 <det> <who.woe> | 1 poor <lost>
<who.woe>   8 <adj> <lost> | 2 <lost>
<lost>      2 <person> ! <more> | 1 <beast> ! <more> | 1 <place> ! <more>
`

// choice is an alternative of a category.
type choice struct {
	weight  int
	symbols []string
}

// grammar maps a category to its alternatives; a symbol that is no category
// stands for itself.
type grammar map[string][]choice

// newGrammar is the grammar of the stand-in.
func newGrammar() grammar { return read(lexicon, rules) }

// read takes words by part of speech, and rules.
func read(lexicon, rules string) grammar {
	g := make(grammar)
	category := ""
	for _, field := range strings.Fields(lexicon) {
		if strings.HasPrefix(field, "<") {
			category = field
			continue
		}
		g[category] = append(g[category], choice{1, []string{field}})
		g[category+"s"] = append(g[category+"s"], choice{1, []string{field + "s"}})
	}
	for _, line := range strings.Split(strings.ReplaceAll(rules, "\n            |", " |"), "\n") {
		category, alternatives, _ := strings.Cut(line, " ")
		if category == "" {
			continue
		}
		for _, a := range strings.Split(alternatives, "|") {
			g[category] = append(g[category], newChoice(strings.Fields(a)))
		}
	}
	return g
}

// newChoice reads "3 <adj> <noun>": a weight of one digit and the symbols.
func newChoice(fields []string) choice {
	return choice{weight: int(fields[0][0] - '0'), symbols: fields[1:]}
}
