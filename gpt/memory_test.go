package gpt

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/service"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/stored"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// For any memory limit, a decoder is refused or decodes.
func TestDecoderWithinItsMemory(t *testing.T) {
	for _, c := range []Config{odd(), ours()} { // cached, and rerun
		m := model64(t, c, true, 1)
		var refused, built int
		for limit := int64(1 << 9); limit < 1<<22; limit += limit / 8 {
			m.Graph.SetMemoryLimit(limit)
			d, err := NewDecoder(m, 1)
			if err != nil {
				refused++
				continue
			}
			built++
			feed(t, d, 3, 4, 5, 6, 7)
		}
		if refused == 0 || built == 0 {
			t.Errorf("%d decoders refused, %d built, want some of both", refused, built)
		}
		m.Graph.SetMemoryLimit(1 << 20)
		_, err := NewDecoder(m, 1<<12) // the caches alone are more
		mustContain(
			t, err, "decoder: memory: got about", "for the keys and values of 7 tokens of sequences 4096",
			"want at most 0.0009766 GiB",
		)
	}
}

func TestBatchesAtTheirBorder(t *testing.T) {
	for _, batch := range []int{0, field.MaxSize + 1} {
		_, err := New(emptyGraph(), tiny(), batch)
		mustContain(t, err, "gpt: got a batch of ", ", want 1 to 268435456")
	}
}

// The memory limit of the saved run does not apply to a loaded model, and a state of the largest size is read.
func TestLoadedStates(t *testing.T) {
	c := tiny()
	c.MemoryLimit = 3
	list := files(t, newTrainer(t, c))
	m, err := LoadModel(emptyGraph(), saved(t, 0, list))
	if err != nil {
		t.Fatal(err)
	}
	if m.Config.MemoryLimit != 0 {
		t.Errorf("memory_limit is %v, want 0", m.Config.MemoryLimit)
	}
	for size, want := range map[int]string{
		maxState: "", maxState + 1: "state.json: got 1048577 bytes, want at most 1048576",
	} {
		list := slices.Clone(list)
		for i, f := range list {
			if f.Name == train.StateFile {
				list[i].Write = func(w io.Writer) error {
					var b bytes.Buffer
					if err := f.Write(&b); err != nil {
						return err
					}
					_, err := io.WriteString(w, b.String()+strings.Repeat(" ", size-b.Len()))
					return err
				}
			}
		}
		if _, err := LoadModel(emptyGraph(), saved(t, 0, list)); want != "" {
			mustContain(t, err, want)
		} else if err != nil {
			t.Error(err)
		}
	}
}

// large has a Step that needs more memory than allowed.
type large struct {
	nn.Cached
	steps *int
}

func (l large) Step(x, at graph.Expr) graph.Expr {
	*l.steps++
	y := l.Cached.Step(x, at)
	wide := y
	for range 14 {
		wide = wide.Join(wide)
	}
	return wide.Columns(0, y.Shape()[1])
}

// After the first program that cannot be compiled, no other is built.
func TestDecoderOfALargeStep(t *testing.T) {
	var steps int
	m := model64(t, withOwn(7, func(_ nn.Site, l nn.Layer) nn.Layer { return large{l.(nn.Cached), &steps} }), true, 1)
	m.Graph.SetMemoryLimit(1 << 20)
	_, err := NewDecoder(m, 1)
	mustContain(t, err, "decoder: ", "memory: got ", "want at most 0.0009766 GiB")
	if steps != m.Config.NLayer {
		t.Errorf("Step was called %d times, want once for each of %d blocks", steps, m.Config.NLayer)
	}
}

// The number of allocations of Generate does not depend on the length of the text.
func TestGenerateAllocatesNothingPerToken(t *testing.T) {
	m := model64(t, odd(), true, 1)
	d, batch, s := newDecoderOf(t, m), newBatchDecoderOf(t, m, 3), samplersOf(3)
	for name, f := range map[string]func(n int) error{
		"a text": func(n int) error {
			for _, err := range d.Generate(t.Context(), [][]int{{1, 2}}, n, s[2:]) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"texts": func(n int) error {
			for _, err := range batch.Generate(t.Context(), [][]int{{1, 2}, {3}, {4, 5, 6}}, n, s, 12) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			allocs := func(n int) float64 {
				return testing.AllocsPerRun(1, func() { // after a first run that allocates the buffers
					if err := f(n); err != nil {
						t.Fatal(err)
					}
				})
			}
			allocs(90)
			if few, many := allocs(30), allocs(90); many != few {
				t.Errorf("%v allocations for 90 tokens, %v for 30, want the same number", many, few)
			}
		})
	}
}

// The estimated memory of a decoder is its caches', for every attention that is decoded token by token, including sums
// of heads that are longer than the context, and a latent larger than all heads.
func TestRemembered(t *testing.T) {
	const batch = 3
	tried := 0
	for _, attention := range parts.Attentions() {
		name := attention.String()
		if name == "linformer" { // is not causal
			continue
		}
		c := tiny()
		c.VocabSize, c.Attention, c.QKSize, c.VSize = 41, name, 30, 22
		for _, option := range attention.Options {
			switch option.Name {
			case "window":
				c.Options.Set("window", 3)
			case "n_kv_head":
				c.Options.Set("n_kv_head", 1)
			case "latent_size":
				c.Options.Set("latent_size", 500)
			}
		}
		m, err := New(graph.New(graph.Float32, 1), c, batch)
		if err != nil {
			t.Fatal(name, err)
		}
		if _, _, newest := programs(t, m); !newest { // keeps only the tokens
			continue
		}
		var caches nn.Caches
		n := m.network()
		build := n.Build
		n.Build = func(s graph.Scope, batch int, positions graph.Expr, shared nn.Caches) decode.Layers {
			caches = shared
			return build(s, batch, positions, shared)
		}
		d, err := decode.New(n, batch)
		if err != nil {
			t.Fatal(name, err)
		}
		full := slices.Repeat([]int{1}, c.BlockSize)
		if _, err := d.Feed(full, full, full); err != nil {
			t.Fatal(name, err)
		}
		tried++
		o, err := m.plan.outline()
		if held := float64(caches.Bytes()); err != nil || held == 0 || held != 4*batch*o.remembered {
			t.Errorf("%s: %v bytes are held, %v estimated (%v)", name, held, 4*batch*o.remembered, err)
		}
		if one, err := m.StateBytes(); err != nil || int(one)*batch != caches.Bytes() {
			t.Errorf("%s: got StateBytes %d, %v, want a third of %d", name, one, err, caches.Bytes())
		}
	}
	if tried < 10 {
		t.Errorf("%d attentions tried, want 10 or more", tried)
	}
}

// BenchmarkDecodeBatch decodes into a window that fills and slides. For a batch it counts the tokens of all sequences.
func BenchmarkDecodeBatch(b *testing.B) {
	for _, batch := range []int{1, 8} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("batch=%d/threads=%d", batch, threads), func(b *testing.B) {
				d := newBatchDecoderOf(b, model32(b, threads, 64), batch)
				rows := make([][]int, batch)
				for i := range rows {
					rows[i] = []int{i}
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := d.Feed(rows...); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "tok/s")
			})
		}
	}
}

// BenchmarkService serves clients with GPT-2's sizes and prompts of 64 tokens: the tokens per second that all clients
// get, with their prompts and from the first token of the last client on, and the time until the first token, of a
// client alone and of one beside seven that write.
func BenchmarkService(b *testing.B) {
	c := GPT2()
	c.BlockSize, c.VocabSize = 256, 50_257
	m, err := New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("weights=float32", func(b *testing.B) { benchmarkService(b, m) })
	for _, weights := range []stored.Packing{"bf16", "int8", "int4"} {
		packed, err := m.Packed(weights)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("weights="+string(weights), func(b *testing.B) { benchmarkService(b, packed) })
	}
}

// served returns a service of a model.
func served(m *Model, lanes, queue int) (*service.Service, error) {
	n, err := m.Network(lanes)
	if err != nil {
		return nil, err
	}
	return service.New(n, lanes, queue)
}

func benchmarkService(b *testing.B, m *Model) {
	c := m.Config
	s, err := served(m, 8, 8)
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	go s.Run(ctx)
	rng := rand.New(rand.NewPCG(1, 1))
	var mutex sync.Mutex // of rng
	write := func(ctx context.Context, tokens int) (times []time.Time) {
		mutex.Lock()
		prompt := someRows(rng, 1, 64, c.VocabSize)[0]
		mutex.Unlock()
		r := service.Request{Prompt: prompt, Tokens: tokens, Sampler: search.NewSampler(1)}
		for _, err := range s.Generate(ctx, r) {
			if err != nil {
				break
			}
			times = append(times, time.Now())
		}
		return times
	}
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			all, writing := 0, 0
			var span time.Duration // in which all clients write
			for b.Loop() {
				lists := make([][]time.Time, clients)
				var group sync.WaitGroup
				for i := range clients {
					group.Go(func() { lists[i] = write(ctx, 64) })
				}
				group.Wait()
				first, last := lists[0][0], lists[0][63]
				for _, times := range lists {
					all += len(times)
					if times[0].After(first) {
						first = times[0]
					}
					if times[63].Before(last) {
						last = times[63]
					}
				}
				for _, times := range lists {
					for _, t := range times {
						if t.After(first) && !t.After(last) {
							writing++
						}
					}
				}
				span += last.Sub(first)
			}
			b.ReportMetric(float64(all)/b.Elapsed().Seconds(), "tok/s")
			b.ReportMetric(float64(writing)/span.Seconds(), "writing-tok/s")
		})
	}
	for _, others := range []int{0, 7} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			var sum time.Duration
			for b.Loop() {
				around, leave := context.WithCancel(ctx)
				var begun, ended sync.WaitGroup
				begun.Add(others)
				for range others {
					ended.Go(func() {
						n := 0
						mutex.Lock()
						prompt := someRows(rng, 1, 64, c.VocabSize)[0]
						mutex.Unlock()
						r := service.Request{Prompt: prompt, Tokens: 190, Sampler: search.NewSampler(1)}
						for range s.Generate(around, r) {
							if n++; n == 1 {
								begun.Done()
							}
						}
					})
				}
				begun.Wait() // they write
				start := time.Now()
				times := write(ctx, 1)
				sum += times[0].Sub(start)
				leave()
				ended.Wait()
			}
			b.ReportMetric(1e3*sum.Seconds()/float64(b.N), "ms-to-first")
		})
	}
}

// Nothing is dropped while decoding, with either kind of cache, in either type.
func TestDecodingDropsNothing(t *testing.T) {
	for _, attention := range []string{"causal", "longformer"} {
		var wide [][]float64
		for _, dtype := range []graph.Dtype{graph.Float64, graph.Float32} {
			var logits [2][][]float64
			for i, dropout := range []float64{0, 0.4} {
				c := tiny()
				c.VocabSize = 11
				c.Attention, c.Dropout = attention, dropout
				c.Options.Offer("window", 3)
				c.Options.Offer("dilation", 1)
				m, err := New(graph.New(dtype, 3), c, 1)
				if err != nil {
					t.Fatal(err)
				}
				d := newDecoderOf(t, m)
				for _, ids := range [][]int{{1, 2, 3}, {7}, {10}} {
					logits[i] = append(logits[i], slices.Clone(feed(t, d, ids...)))
				}
			}
			for i, want := range logits[0] {
				if !slices.Equal(logits[1][i], want) {
					t.Errorf("%s, %v: got %v with dropout, %v without", attention, dtype, logits[1][i], want)
				}
			}
			if wide == nil {
				wide = logits[0]
			}
			for i := range wide {
				for j, want := range wide[i] {
					if got := logits[0][i][j]; len(wide[i]) != 11 || want == 0 || !(math.Abs(got-want) <= 1e-4) {
						t.Errorf("%s, %v: logit %d is %v, want %v", attention, dtype, j, got, want)
					}
				}
			}
		}
	}
}

// LoadTokenizer refuses a checkpoint without a tokenizer, and Resume an invalid run.
func TestLoadRefuses(t *testing.T) {
	trainer := newTrainer(t, tiny())
	steps(t, trainer, 1)
	_, err := LoadTokenizer(saved(t, 1, change(t, files(t, trainer), charactersFile, nil)))
	mustContain(t, err, "no tokenizer")
	c := trainer.Config()
	c.LogInterval = 0
	_, err = Resume(c, trainer.Corpus, trainer.Tokenizer, saved(t, 1, files(t, trainer)))
	mustContain(t, err, "log_interval")
}

// allocatedBy returns the bytes that f allocates.
func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The memory is planned before any table of rotary positions is computed: heads of 2^22 features with YaRN are refused
// in little memory.
func TestRotaryTablesArePlannedFirst(t *testing.T) {
	for _, size := range []string{"4000000", "268435456"} {
		for _, kind := range []string{"yarn", "llama3", "linear"} {
			data := `{"model_type": "pedestrian", "vocab_size": 100, "n_embd": 64, "n_head": 2, "n_layer": 2,
				"n_positions": 4096, "position": "rope", "qk_size": ` + size + `, "v_size": ` + size +
				`, "rope_scaling": "` + kind + `", "rope_factor": 4`
			if kind != "linear" {
				data += `, "rope_original": 1024`
			}
			var err error
			bytes := allocatedBy(func() {
				var c Config
				if c, err = FromHuggingFace([]byte(data + `}`)); err == nil {
					c.MemoryLimit = 1
					err = c.ValidateModel()
				}
			})
			if err == nil || !strings.Contains(err.Error(), "memory: got about ") || bytes > 16<<20 {
				t.Errorf(
					"%s, head_dim %s: got error %v after %d bytes, want a refusal within 16 MiB", kind, size, err,
					bytes,
				)
			}
		}
	}
}

// The memory of opening a model, of its first tokens and of training on a short window does not depend on its context.
func TestMemoryByTheTokens(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"causal": func(*Config) {}, "alibi": func(c *Config) { c.Position = "alibi" },
		"sinusoidal": func(c *Config) { c.Position = "sinusoidal" },
		"window":     func(c *Config) { c.Attention = "window"; c.Options.Set("window", 40) },
		"bigbird": func(c *Config) {
			c.Attention = "bigbird"
			c.Options.Set("window", 40)
			c.Options.Set("global_tokens", 1)
			c.Options.Set("random_keys", 2)
		},
		"longformer": func(c *Config) {
			c.Attention = "longformer"
			c.Options.Set("window", 40)
			c.Options.Set("dilation", 2)
			c.Options.Set("global_tokens", 1)
		},
		"mla_rope": func(c *Config) {
			c.Attention = "mla_rope"
			c.Position = "none"
		}, "gqa": func(c *Config) { c.Attention = "gqa" },
		"forgetting": func(c *Config) {
			c.Attention = "forgetting"
			c.Position = "none"
		}, "gla": func(c *Config) { c.Attention, c.Position = "gla", "none" },
		"sigmoid": func(c *Config) { c.Attention = "sigmoid" }, "linear": func(c *Config) {
			c.Attention = "linear"
			c.Position = "none"
		},
	} {
		used := func(context int) uint64 {
			c := tiny()
			c.Options.Offer("window", 40)
			c.VocabSize, c.QKSize, c.VSize, c.Position = 41, 4, 4, "rope"
			change(&c)
			c.BlockSize = context
			return allocatedBy(func() {
				m, err := New(graph.New(graph.Float32, 1), c, 1)
				if err != nil {
					t.Fatal(name, err)
				}
				d := newDecoderOf(t, m)
				for _, ids := range [][]int{{1, 2, 3, 4, 5}, {6}, {7}} {
					feed(t, d, ids...)
				}
			})
		}
		used(1 << 12)
		few, many := used(1<<12), used(1<<17)
		// Of every token of the context there are three integers in the model, some numbers of a mask's spans, and a
		// pointer of BigBird's keys: far less than a row of keys and values, and than the mask of a short text.
		if per := float64(many-min(few, many)) / (1<<17 - 1<<12); per > 400 {
			t.Errorf(
				"%s: a context of %d takes %d bytes, one of %d takes %d: %.0f bytes a token, want at most 400", name,
				1<<12, few, 1<<17, many, per,
			)
		}
	}
}

// live returns the heap after collection, and the goroutines.
func live() (heap uint64, goroutines int) {
	time.Sleep(5 * time.Millisecond) // a kernel's workers end after a short time without work
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, runtime.NumGoroutine()
}

// residentSet returns the memory that the process has from the system, after returning unused memory; 0 if the system
// does not report it.
func residentSet(t *testing.T) (bytes int) {
	t.Helper()
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int
	if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// aloneVariable is set in the process that TestSoak measures, because memory of other tests would hide a leak.
const aloneVariable = "GPT_TEST_ALONE"

// The memory of a long run does not grow.
func TestSoak(t *testing.T) {
	before, n := 300, 1000
	switch {
	case testing.Short():
		n = 200
	case os.Getenv("NIGHTLY") != "":
		before, n = 8000, 8000 // the process still grows by 6 MB in the first thousands, and then no more
	}
	if os.Getenv(aloneVariable) == "" {
		cmd := exec.Command(
			os.Args[0], "-test.run=^TestSoak$", "-test.v", fmt.Sprintf("-test.short=%v", testing.Short()),
		)
		cmd.Env = append(os.Environ(), aloneVariable+"=1")
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Error(err)
		}
		return
	}
	c := eventful()
	c.Threads = 2
	trainer := newTrainer(t, c)
	work := func(n int) {
		for i := range n {
			steps(t, trainer, 1)
			if i%50 != 0 {
				continue
			}
			if _, err := trainer.Evaluate(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, f := range files(t, trainer) {
				if err := f.Write(io.Discard); err != nil {
					t.Fatal(err)
				}
			}
			feed(t, newDecoderOf(t, trainer.Model), 1, 2, 3)
		}
	}
	work(before) // until the tables of the runtime have most of their size
	heap, goroutines := live()
	resident := residentSet(t)
	work(n)
	heap2, goroutines2 := live()
	// The allowance is less than a page for each step, and more than what the runtime grows by on a loaded machine.
	if now := residentSet(t); now > resident*105/100+2<<20 {
		t.Errorf("the process grew from %d to %d bytes in %d steps", resident, now, n)
	}
	runtime.KeepAlive(trainer)
	growth := float64(heap2) - float64(heap)
	t.Logf("heap %.2f MB, %+.0f bytes after %d steps more", float64(heap)/1e6, growth, n)
	if growth > max(0.02*float64(heap), 64e3) { // a step that kept one float would show
		t.Errorf("the heap grew from %d to %d bytes in %d steps", heap, heap2, n)
	}
	for t.Logf("%d goroutines, %d before", goroutines2, goroutines); runtime.NumGoroutine() > goroutines; {
		time.Sleep(time.Millisecond) // until they have left, and for ever if they do not
	}
}

// shakespeareTrainer returns a trainer with the sizes of the recipe, on a text of random letters, as many different
// ones as in Shakespeare. Each change is made to the configuration.
func shakespeareTrainer(t testing.TB, change ...func(*Config)) *Trainer {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	var s strings.Builder
	for range 20_000 {
		s.WriteByte(byte(' ' + rng.IntN(65)))
	}
	c := Shakespeare()
	for _, f := range change {
		f(&c)
	}
	data, tok := corpus(t, s.String(), c.BlockSize)
	if tok.Size() != 65 {
		t.Fatalf("%d letters, want 65", tok.Size())
	}
	trainer, err := NewTrainer(c, data, tok)
	if err != nil {
		t.Fatal(err)
	}
	return trainer
}

// A step at the sizes of the Shakespeare recipe leaves less than 1 MB to the garbage collector.
func TestGarbage(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short runs the race detector, under which a sync.Pool forgets at random")
	}
	trainer := shakespeareTrainer(t)
	steps(t, trainer, 1)
	const n = 2
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	steps(t, trainer, n)
	runtime.ReadMemStats(&after)
	bytes := (after.TotalAlloc - before.TotalAlloc) / n
	t.Logf("%d bytes in %d allocations a step", bytes, (after.Mallocs-before.Mallocs)/n)
	if bytes > 1e6 {
		t.Errorf("a step allocates %d bytes, want at most 1 MB", bytes)
	}
}

func BenchmarkStep(b *testing.B) {
	for _, streams := range []string{"none", "mhc"} {
		b.Run("hyper_connections="+streams, func(b *testing.B) {
			trainer := shakespeareTrainer(b, func(c *Config) { c.With.Set("hyper_connections", streams) })
			steps(b, trainer, 1)
			tokens := 0
			for b.Loop() {
				tokens += steps(b, trainer, 1)[0].Tokens
			}
			b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tok/s")
		})
	}
}

// BenchmarkDecode decodes one token at a time: into an empty window until it is full, and beyond, where half a window
// must be fed again after every half.
func BenchmarkDecode(b *testing.B) {
	m := shakespeareTrainer(b).Model
	d := newDecoderOf(b, m)
	for name, reset := range map[string]bool{"filling": true, "sliding": false} {
		b.Run(name, func(b *testing.B) {
			tokens := 0
			for b.Loop() {
				if reset && tokens%m.Config.BlockSize == 0 {
					d.Reset()
				}
				if _, err := d.Feed([]int{tokens % 65}); err != nil {
					b.Fatal(err)
				}
				tokens++
			}
			b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tok/s")
		})
	}
}

// BenchmarkDecodeRecurrences decodes 100 tokens after none and after 2000: a recurrence takes equally long for both.
func BenchmarkDecodeRecurrences(b *testing.B) {
	for _, attention := range []string{"causal", "gla", "gated_deltanet", "kda", "mamba2", "mingru"} {
		c := shakespeare65()
		c.Attention, c.Position, c.BlockSize = attention, "none", 2200
		m, err := New(graph.New(graph.Float32, 1), c, 1)
		if err != nil {
			b.Fatal(err)
		}
		d := newDecoderOf(b, m)
		for _, before := range []int{0, 2000} {
			b.Run(fmt.Sprintf("%s/%d", attention, before), func(b *testing.B) {
				var took time.Duration
				for b.Loop() {
					d.Reset()
					if before > 0 {
						feed(b, d, make([]int, before)...)
					}
					start := time.Now()
					for range 100 {
						feed(b, d, 1)
					}
					took += time.Since(start)
				}
				b.ReportMetric(float64(took.Microseconds())/float64(100*b.N), "µs/token")
			})
		}
	}
}
