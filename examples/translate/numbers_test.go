package main

import "testing"

// The pairs were written by hand, not by the rules.
func TestNumbers(t *testing.T) {
	for _, tc := range []struct {
		n                int
		english, italian string
	}{
		{0, "zero", "zero"}, {1, "one", "uno"}, {3, "three", "tre"}, {7, "seven", "sette"}, {8, "eight", "otto"},
		{10, "ten", "dieci"}, {11, "eleven", "undici"}, {12, "twelve", "dodici"}, {13, "thirteen", "tredici"},
		{14, "fourteen", "quattordici"}, {15, "fifteen", "quindici"}, {16, "sixteen", "sedici"},
		{17, "seventeen", "diciassette"}, {18, "eighteen", "diciotto"}, {19, "nineteen", "diciannove"},
		{20, "twenty", "venti"}, {21, "twenty-one", "ventuno"}, {22, "twenty-two", "ventidue"},
		{23, "twenty-three", "ventitré"}, {28, "twenty-eight", "ventotto"}, {30, "thirty", "trenta"},
		{31, "thirty-one", "trentuno"}, {33, "thirty-three", "trentatré"}, {38, "thirty-eight", "trentotto"},
		{40, "forty", "quaranta"}, {42, "forty-two", "quarantadue"}, {58, "fifty-eight", "cinquantotto"},
		{61, "sixty-one", "sessantuno"}, {76, "seventy-six", "settantasei"}, {80, "eighty", "ottanta"},
		{88, "eighty-eight", "ottantotto"}, {91, "ninety-one", "novantuno"}, {99, "ninety-nine", "novantanove"},
		{100, "one hundred", "cento"}, {101, "one hundred and one", "centouno"},
		{103, "one hundred and three", "centotré"},
		{108, "one hundred and eight", "centotto"}, {110, "one hundred and ten", "centodieci"},
		{111, "one hundred and eleven", "centoundici"}, {120, "one hundred and twenty", "centoventi"},
		{180, "one hundred and eighty", "centottanta"}, {181, "one hundred and eighty-one", "centottantuno"},
		{200, "two hundred", "duecento"}, {300, "three hundred", "trecento"},
		{365, "three hundred and sixty-five", "trecentosessantacinque"},
		{888, "eight hundred and eighty-eight", "ottocentottantotto"},
		{999, "nine hundred and ninety-nine", "novecentonovantanove"},
		{1000, "one thousand", "mille"}, {1001, "one thousand and one", "milleuno"},
		{1003, "one thousand and three", "milletré"},
		{1008, "one thousand and eight", "milleotto"}, {1100, "one thousand one hundred", "millecento"},
		{1861, "one thousand eight hundred and sixty-one", "milleottocentosessantuno"},
		{2000, "two thousand", "duemila"},
		{3000, "three thousand", "tremila"}, {3003, "three thousand and three", "tremilatré"},
		{21000, "twenty-one thousand", "ventunomila"}, {23000, "twenty-three thousand", "ventitremila"},
		{42007, "forty-two thousand and seven", "quarantaduemilasette"}, {100000, "one hundred thousand", "centomila"},
		{108108, "one hundred and eight thousand one hundred and eight", "centottomilacentotto"},
		{
			333333, "three hundred and thirty-three thousand three hundred and thirty-three",
			"trecentotrentatremilatrecentotrentatré",
		},
		{
			999999, "nine hundred and ninety-nine thousand nine hundred and ninety-nine",
			"novecentonovantanovemilanovecentonovantanove",
		},
	} {
		if got := English(tc.n); got != tc.english {
			t.Errorf("English(%d) = %q, want %q", tc.n, got, tc.english)
		}
		if got := Italian(tc.n); got != tc.italian {
			t.Errorf("Italian(%d) = %q, want %q", tc.n, got, tc.italian)
		}
	}
}

// No two numbers have the same name, otherwise no translation could be right for both.
func TestNumbersDiffer(t *testing.T) {
	english, italian := map[string]int{}, map[string]int{}
	for n := 0; n < 1_000_000; n += 1 + n/3000 { // all of the small ones, some of the large
		for _, name := range []struct {
			of   map[string]int
			word string
		}{{english, English(n)}, {italian, Italian(n)}} {
			if other, taken := name.of[name.word]; taken {
				t.Fatalf("%d and %d are both %q", other, n, name.word)
			}
			name.of[name.word] = n
		}
	}
}
