package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/published/gguf"
)

// once is a story of the kind that the model knows, which it has not written.
const once = `Once upon a time, there was a little boy named Tim. Tim had a red ball. He loved to play with his ball every day. One day, Tim saw a big dog in the park. The dog wanted to play too. Tim was happy and said, "Let's play!" They played all day and had fun. Then Tim went home and told his mom. She was happy too.
`

// The whole life of a published model with trained weights: it writes, is measured, shown, tuned, merged, exported to
// every form and opened there again. PEDESTRIAN_STORIES is the folder of stories260K, a LLaMA that tells stories, with
// the text that llama2.c writes in greedy.txt. If PEDESTRIAN_LLAMA names a folder in which npm has installed
// node-llama-cpp, llama.cpp writes the same text from the files.
func TestStories(t *testing.T) {
	model := os.Getenv("PEDESTRIAN_STORIES")
	if model == "" {
		t.Skip("set PEDESTRIAN_STORIES to the folder of stories260K")
	}
	file, err := os.ReadFile(filepath.Join(model, "greedy.txt"))
	if err != nil {
		t.Fatal(err)
	}
	const prompt, tokens = "Once upon a time", 200
	greedy, dir := strings.TrimSpace(string(file)), t.TempDir()
	writes := func(args ...string) string {
		t.Helper()
		out := called(
			t, append([]string{"-prompt", prompt, "-tokens", fmt.Sprint(tokens), "-temperature", "0"}, args...)...,
		)
		return out[:strings.LastIndex(out, "\n\n")]
	}
	loss := func(file string, args ...string) float64 {
		t.Helper()
		found := regexp.MustCompile(`loss (\S+) nats`).FindStringSubmatch(called(t, append(args, "-eval", file)...))
		x, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	same := func(what, got string) {
		t.Helper()
		if !strings.HasPrefix(got, greedy) {
			t.Errorf("%s: got\n%s\nwant\n%s", what, got, greedy)
		}
	}
	same("the folder", writes("-model", model))
	story := written(t, once)
	if got := loss(story, "-model", model); got != 0.9794 {
		t.Errorf("a story: got a loss of %v nats per token, want 0.9794, as PyTorch (torch_reference.py)", got)
	}

	lessons := written(
		t,
		strings.Repeat("The wheel goes round, the water pays no rent, and what I grind by day by night is spent. ", 40),
	)
	before := loss(lessons, "-model", model)
	tune := []string{
		"-model", model, "-tune", lessons, "-block_size", "64", "-max_iters", "6", "-gradient_accumulation_steps", "2",
	}
	called(t, append(tune, "-out_dir", dir+"/adapter", "-lora_r", "4", "-learning_rate", "0.01")...)
	with := loss(lessons, "-model", model, "-adapter", dir+"/adapter")
	called(t, append(tune, "-out_dir", dir+"/half", "-lora_r", "4", "-learning_rate", "0.01", "-max_iters", "3")...)
	called(t, "-resume", "-out_dir", dir+"/half", "-max_iters", "6")
	if resumed := loss(lessons, "-model", model, "-adapter", dir+"/half"); resumed != with {
		t.Errorf("resumed after half of the steps, the loss is %v, want %v", resumed, with)
	}
	called(t, append(tune, "-out_dir", dir+"/full", "-full", "-learning_rate", "0.002")...)
	whole := loss(lessons, "-model", dir+"/full")
	called(t, "-model", model, "-adapter", dir+"/adapter", "-merge", "-out_dir", dir+"/merged")
	if merged := loss(lessons, "-model", dir+"/merged"); merged != with || !(with < before-0.5) ||
		!(whole < before-0.5) {
		t.Errorf(
			"the loss is %v before, %v with the adapter, %v with it merged, %v tuned as a whole", before, with, merged,
			whole,
		)
	}
	pairs := ""
	for i := range 20 {
		pairs += fmt.Sprintf(
			`{"prompt": "Once upon a time, %d", "chosen": " there was a cat.", "rejected": " there was a dog."}`+"\n",
			i,
		)
	}
	called(t, "-model", model, "-dpo", written(t, pairs), "-out_dir", dir+"/dpo", "-max_iters", "4", "-batch_size", "4",
		"-gradient_accumulation_steps", "1", "-learning_rate", "0.01")
	if out := writes("-model", model, "-adapter", dir+"/dpo"); strings.HasPrefix(out, greedy) {
		t.Error("tuned on preferences, the model writes what it did before")
	}

	for _, dtype := range []string{"F32", "BF16"} {
		folder := filepath.Join(dir, "folder", dtype)
		called(t, "-model", model, "-export", folder, "-dtype", dtype)
		if out := writes("-model", folder); dtype == "F32" {
			same("the folder of an export", out)
		} else if !strings.HasPrefix(out, greedy[:60]) {
			t.Errorf("%s: got\n%s", folder, out)
		}
	}
	texts := map[string]string{}
	for _, dtype := range []string{"F32", "F16", "BF16", "Q8_0", "Q4_0"} {
		path := filepath.Join(dir, dtype+".gguf")
		out := called(t, "-model", model, "-export", path, "-dtype", dtype)
		if odd := strings.Contains(out, "ffn_down"); odd != strings.HasPrefix(dtype, "Q") { // of 172 numbers
			t.Errorf("%s: got %q", dtype, out)
		}
		if _, err := gguf.Open(path); err != nil {
			t.Error(err)
		}
		if texts[path] = writes("-model", path); dtype == "F32" {
			same("the GGUF file", texts[path])
		}
	}
	if llama := os.Getenv("PEDESTRIAN_LLAMA"); llama != "" {
		byLlamaCpp(t, llama, prompt, 60, texts)
	}
	programs := built(t, "./examples/gpt2", "./examples/chat", "./examples/inspect")
	out, err := exec.Command(
		programs["inspect"], "-checkpoint", model, "-prompt", prompt, "-page", dir+"/inside.html",
	).CombinedOutput()
	if page, _ := os.ReadFile(dir + "/inside.html"); err != nil || !bytes.Contains(page, []byte("Once")) {
		t.Errorf("inspect: %v\n%s", err, out)
	}
	chats(t, programs["chat"], model, prompt, greedy)
	sums := map[[sha256.Size]byte]string{}
	for name, program := range map[string]string{
		"vectors": programs["gpt2"], "plain Go": built(t, "-tags", "nosimd", "./examples/gpt2")["gpt2"],
	} {
		for _, threads := range []string{"1", "2"} {
			cmd := exec.Command(program, "-model", model, "-prompt", prompt, "-tokens", "300", "-seed", "5")
			cmd.Env = append(os.Environ(), "GOMAXPROCS="+threads)
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			out = out[:bytes.LastIndex(out, []byte("\n\n"))]
			sums[sha256.Sum256(out)] = name + " on " + threads
		}
	}
	if len(sums) != 1 {
		t.Errorf("the text has %d hashes, by %v, want one", len(sums), sums)
	}
}

// built returns the paths of these programs by name. Arguments before them are for the compiler.
func built(t *testing.T, args ...string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("go", append([]string{"build", "-o", dir + "/"}, args...)...)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	paths := map[string]string{}
	for _, p := range args {
		paths[filepath.Base(p)] = filepath.Join(dir, filepath.Base(p))
	}
	return paths
}

// chats starts the server of examples/chat, opens its page and lets the model continue the prompt.
func chats(t *testing.T, program, model, prompt, greedy string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "-model", model, "-serve", "127.0.0.1:0")
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		cmd.Wait()         //nolint:errcheck
	}()
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line)
	if url == "" {
		t.Fatalf("chat: got %q, want its address", line)
	}
	page, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	if data, _ := io.ReadAll(page.Body); page.StatusCode != http.StatusOK ||
		!bytes.Contains(data, []byte("<textarea")) {
		t.Errorf("the page: got status %d and %d bytes", page.StatusCode, len(data))
	}
	asked := fmt.Sprintf(`{"prompt": %q, "max_tokens": 60, "temperature": 0}`, prompt)
	reply, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(asked))
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	var said struct{ Choices []struct{ Text string } }
	if err := json.NewDecoder(reply.Body).Decode(&said); err != nil || len(said.Choices) != 1 ||
		!strings.HasPrefix(greedy, prompt+said.Choices[0].Text) {
		t.Errorf("chat: got %+v, %v, want the beginning of %s", said, err, greedy)
	}
}

// byLlamaCpp compares the first n tokens that llama.cpp writes from GGUF files with texts.
func byLlamaCpp(t *testing.T, dir, prompt string, n int, texts map[string]string) {
	t.Helper()
	script, err := os.ReadFile("../../gpt/published/testdata/llama_text.mjs")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for path := range texts {
		paths = append(paths, path)
	}
	cmd := exec.CommandContext(
		t.Context(), "node",
		append([]string{"--input-type=module", "-e", string(script), "--", prompt, fmt.Sprint(n)}, paths...)...,
	)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := json.NewDecoder(bytes.NewReader(out))
	for _, path := range paths {
		var answer json.RawMessage
		var got struct{ Text string }
		if err := answers.Decode(&answer); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(answer, &got); err != nil || got.Text == "" ||
			!strings.HasPrefix(texts[path], prompt+got.Text) {
			t.Errorf("%s: llama.cpp writes %s, want the beginning of %q", path, answer, texts[path])
		}
	}
}
