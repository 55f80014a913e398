package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var ofWord = regexp.MustCompile(`(?m)^\tWORD \$0x([0-9a-f]{8}) // (.*)$`)

// TestWords: the words are what GNU as 2.40 writes.
func TestWords(t *testing.T) {
	got := indexed("ldr", 30, 13, 23) + indexed("str", 13, 23, 5) + byElementProduct(30, 13, 23) +
		byElement(30, 13, 23, 0) + byElement(30, 13, 5, 1) + byElement(1, 13, 23, 2) + byElement(30, 1, 23, 3) +
		sdotByElement(30, 13, 23, 2) + sdotByElement(1, 13, 5, 1) +
		shift("shl", 30, 13, 23, 4) + shift("shl", 30, 13, 32, 8) + shift("ushr", 30, 13, 27, 8) +
		shift("ushr", 30, 13, 11, 8) + shift("sshr", 30, 13, 1, 4) + shift("sshr", 30, 13, 31, 4)
	for name, w := range words {
		got += instruction(name, []int{30, 13, 23}[:len(w.shapes)]...)
	}
	want := map[string]string{}
	for _, entry := range strings.Split(strings.TrimSpace(assembled), "\n") {
		bits, text, _ := strings.Cut(entry, " ")
		want[text] = bits
	}
	for _, found := range ofWord.FindAllStringSubmatch(got, -1) {
		if want[found[2]] != found[1] {
			t.Errorf("%s: got %s, want %s", found[2], found[1], want[found[2]])
		}
		delete(want, found[2])
	}
	for text := range want {
		t.Errorf("%s: no instruction has this word", text)
	}
}

// TestWordsOfTheFiles compares all words of the committed files with GNU's assembler, if it is installed.
func TestWordsOfTheFiles(t *testing.T) {
	as, err := exec.LookPath("aarch64-linux-gnu-as")
	if err != nil {
		t.Skip("no aarch64-linux-gnu-as (Debian's binutils-aarch64-linux-gnu)")
	}
	var lines, bits []string
	for name, text := range allFiles(t) {
		if strings.HasSuffix(name, "_arm64.s") {
			for _, found := range ofWord.FindAllStringSubmatch(text, -1) {
				lines, bits = append(lines, found[2]), append(bits, found[1])
			}
		}
	}
	dir := t.TempDir()
	source, listing := filepath.Join(dir, "words.s"), filepath.Join(dir, "listing")
	if err := os.WriteFile(source, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(
		as, "-march=armv8.2-a+dotprod", "-aln="+listing, "-o", filepath.Join(dir, "words.o"), source,
	).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(listing)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^ *(\d+) [0-9a-f]{4,} ([0-9A-F]{8})`).FindAllStringSubmatch(string(text), -1)
	if len(found) != len(lines) {
		t.Fatalf("%d words assembled, want %d", len(found), len(lines))
	}
	for _, f := range found {
		i, _ := strconv.Atoi(f[1])
		b, _ := strconv.ParseUint(f[2], 16, 32) // in the order of memory
		if got := fmt.Sprintf("%02x%02x%02x%02x", byte(b), byte(b>>8), byte(b>>16), b>>24); got != bits[i-1] {
			t.Fatalf("%s: got %s, want %s", lines[i-1], bits[i-1], got)
		}
	}
}

func allFiles(t *testing.T) map[string]string {
	out, err := files()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestShareOfMultiplications counts the instructions of the products' loops over k: in the tile's loop at least 9 of 10
// multiply and add.
func TestShareOfMultiplications(t *testing.T) {
	text := allFiles(t)["gemm/gemm_neon_arm64.s"]
	loops := regexp.MustCompile(`(?s)\n(\w*loop):\n(.*?)B(?:GE|GT) (\w+)\n`).FindAllStringSubmatch(text, -1)
	shares := map[string]float64{}
	for _, loop := range loops {
		if loop[1] != loop[3] {
			t.Fatalf("loop %s ends in a jump to %s", loop[1], loop[3])
		}
		all, multiplied := strings.Count(loop[2], "\n\t")+1, strings.Count(loop[2], "// fmla ")
		if shares[loop[1]] = float64(multiplied) / float64(all); multiplied > 0 {
			t.Logf("%-10s %3d of %3d instructions: %.1f %%", loop[1], multiplied, all, 100*shares[loop[1]])
		}
	}
	if got := shares["v2h12loop"]; !(got >= 0.9) {
		t.Errorf("in the loop of 12 rows and 2 vectors %.3f of the instructions multiply, want 0.9", got)
	}
	if !slices.ContainsFunc(loops, func(loop []string) bool { return loop[1] == "severalloop" }) {
		t.Error("the loop of a row's products is not found")
	}
}

// TestReservedRegisters: R18 belongs to the system on macOS and Windows, R26 … R30 to Go.
func TestReservedRegisters(t *testing.T) {
	reserved := regexp.MustCompile(`\b[Rx](18|2[6-9]|30)\b`)
	for name, text := range allFiles(t) {
		if found := reserved.FindString(text); strings.HasSuffix(name, "_arm64.s") && found != "" {
			t.Errorf("%s uses %s", name, found)
		}
	}
}

const assembled = `4ef785be add v30.2d, v13.2d, v23.2d
4eb785be add v30.4s, v13.4s, v23.4s
4eb7bdbe addp v30.4s, v13.4s, v23.4s
4e371dbe and v30.16b, v13.16b, v23.16b
4e771dbe bic v30.16b, v13.16b, v23.16b
6ef71dbe bif v30.16b, v13.16b, v23.16b
6eb71dbe bit v30.16b, v13.16b, v23.16b
4ef735be cmgt v30.2d, v13.2d, v23.2d
4ea0a9be cmlt v30.4s, v13.4s, #0
6e371dbe eor v30.16b, v13.16b, v23.16b
4ea0f9be fabs v30.4s, v13.4s
4e77d5be fadd v30.2d, v13.2d, v23.2d
4e37d5be fadd v30.4s, v13.4s, v23.4s
6e37d5be faddp v30.4s, v13.4s, v23.4s
4e37e5be fcmeq v30.4s, v13.4s, v23.4s
6e37e5be fcmge v30.4s, v13.4s, v23.4s
6eb7e5be fcmgt v30.4s, v13.4s, v23.4s
0e6179be fcvtl v30.2d, v13.2s
0e2179be fcvtl v30.4s, v13.4h
4e6179be fcvtl2 v30.2d, v13.4s
4e2179be fcvtl2 v30.4s, v13.8h
0e6169be fcvtn v30.2s, v13.2d
4e6169be fcvtn2 v30.4s, v13.2d
4e21a9be fcvtns v30.4s, v13.4s
6e37fdbe fdiv v30.4s, v13.4s, v23.4s
4e37f5be fmax v30.4s, v13.4s, v23.4s
6e30f9be fmaxv s30, v13.4s
4eb7f5be fmin v30.4s, v13.4s, v23.4s
4f9719a1 fmla v1.4s, v13.4s, v23.s[2]
4e77cdbe fmla v30.2d, v13.2d, v23.2d
4fb7183e fmla v30.4s, v1.4s, v23.s[3]
4e37cdbe fmla v30.4s, v13.4s, v23.4s
4f9711be fmla v30.4s, v13.4s, v23.s[0]
4fa511be fmla v30.4s, v13.4s, v5.s[1]
4eb7cdbe fmls v30.4s, v13.4s, v23.4s
6e77ddbe fmul v30.2d, v13.2d, v23.2d
6e37ddbe fmul v30.4s, v13.4s, v23.4s
4f9791be fmul v30.4s, v13.4s, v23.s[0]
6ea0f9be fneg v30.4s, v13.4s
6ea1f9be fsqrt v30.4s, v13.4s
4ef7d5be fsub v30.2d, v13.2d, v23.2d
4eb7d5be fsub v30.4s, v13.4s, v23.4s
3cf769be ldr q30, [x13, x23]
4eb79dbe mul v30.4s, v13.4s, v23.4s
4eb71dbe orr v30.16b, v13.16b, v23.16b
4ea009be rev64 v30.4s, v13.4s
4e21d9be scvtf v30.4s, v13.4s
4fa5e1a1 sdot v1.4s, v13.16b, v5.4b[1]
4e9795be sdot v30.4s, v13.16b, v23.16b
4f97e9be sdot v30.4s, v13.16b, v23.4b[2]
4f6055be shl v30.2d, v13.2d, #32
4f3755be shl v30.4s, v13.4s, #23
2e6139be shll v30.4s, v13.4h, #16
6e6139be shll2 v30.4s, v13.8h, #16
0e6149be sqxtn v30.4h, v13.4s
0e2149be sqxtn v30.8b, v13.8h
4e2149be sqxtn2 v30.16b, v13.8h
4e6149be sqxtn2 v30.8h, v13.4s
4f3f05be sshr v30.4s, v13.4s, #1
4f2105be sshr v30.4s, v13.4s, #31
3ca56aed str q13, [x23, x5]
6eb785be sub v30.4s, v13.4s, v23.4s
0f10a5be sxtl v30.4s, v13.4h
0f08a5be sxtl v30.8h, v13.8b
4f10a5be sxtl2 v30.4s, v13.8h
4f08a5be sxtl2 v30.8h, v13.16b
4ed729be trn1 v30.2d, v13.2d, v23.2d
4e9729be trn1 v30.4s, v13.4s, v23.4s
4ed769be trn2 v30.2d, v13.2d, v23.2d
4e9769be trn2 v30.4s, v13.4s, v23.4s
6ea029be uaddlp v30.2d, v13.4s
6eb1a9be uminv s30, v13.4s
2f9721be umlal v30.2d, v13.2s, v23.s[0]
6f7505be ushr v30.2d, v13.2d, #11
6f6505be ushr v30.2d, v13.2d, #27
4e9719be uzp1 v30.4s, v13.4s, v23.4s
0ea129be xtn v30.2s, v13.2d
`
