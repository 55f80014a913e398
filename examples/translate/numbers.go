package main

import "strings"

// English returns n, from 0 to 999,999, in words as in Britain: "forty-two thousand and seven".
func English(n int) string {
	units := [...]string{
		"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
		"ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
	}
	tens := [...]string{"_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}
	switch {
	case n < 20:
		return units[n]
	case n < 100 && n%10 == 0:
		return tens[n/10]
	case n < 100:
		return tens[n/10] + "-" + units[n%10]
	case n < 1000 && n%100 == 0:
		return units[n/100] + " hundred"
	case n < 1000:
		return units[n/100] + " hundred and " + English(n%100)
	case n%1000 == 0:
		return English(n/1000) + " thousand"
	case n%1000 < 100:
		return English(n/1000) + " thousand and " + English(n%1000)
	}
	return English(n/1000) + " thousand " + English(n%1000)
}

// Italian returns n, from 0 to 999,999, in one word. Where usage varies it follows these rules:
//
//   - tens drop their vowel before uno and otto: ventuno, ventotto
//   - cento keeps its vowel before uno and undici and drops it before otto and ottanta: centouno, centotto, centottanta
//   - tre has an accent at the end of a longer word, and only there: ventitré, ventitremila
//   - mille is one thousand, mila several thousands, and no vowel is dropped around them: milleotto, ventunomila
func Italian(n int) string {
	word := italian(n)
	if stem, ok := strings.CutSuffix(word, "tre"); ok && stem != "" {
		return stem + "tré"
	}
	return word
}

func italian(n int) string {
	units := [...]string{
		"zero", "uno", "due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove",
		"dieci", "undici", "dodici", "tredici", "quattordici", "quindici", "sedici", "diciassette",
		"diciotto", "diciannove",
	}
	tens := strings.Fields("_ _ venti trenta quaranta cinquanta sessanta settanta ottanta novanta")
	rest := func(n int) string {
		if n == 0 {
			return ""
		}
		return italian(n)
	}
	switch {
	case n < 20:
		return units[n]
	case n < 100 && (n%10 == 1 || n%10 == 8):
		return tens[n/10][:len(tens[n/10])-1] + units[n%10]
	case n < 100:
		return tens[n/10] + rest(n%10)
	case n < 1000:
		hundred := "cento"
		if n >= 200 {
			hundred = units[n/100] + hundred
		}
		if n%100 == 8 || n%100/10 == 8 {
			hundred = strings.TrimSuffix(hundred, "o")
		}
		return hundred + rest(n%100)
	case n < 2000:
		return "mille" + rest(n%1000)
	}
	return italian(n/1000) + "mila" + rest(n%1000)
}
