package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pkg/errors"
)

// terminal is a conversation in a terminal, or with a pipe.
type terminal struct {
	*engine
	inputs
	options  options
	out      io.Writer
	editor   *editor // of the messages that somebody types; nil for a pipe
	messages []chat.Message
}

func newTerminal(o options, e *engine, in inputs, out io.Writer) *terminal {
	t := &terminal{engine: e, inputs: in, options: o, out: out}
	if file, ok := in.stdin.(*os.File); ok && program.Terminal(file) {
		t.editor = newEditor(file, out, file)
	}
	t.reset()
	return t
}

// reset begins the conversation again.
func (t *terminal) reset() {
	t.messages = nil
	if t.options.system != "" {
		t.messages = []chat.Message{{Role: "system", Content: t.options.system}}
	}
}

const help = `/reset        begins a new conversation
/system TEXT  begins a new conversation with that system message; without TEXT, with none
/help         lists the commands
/quit         ends the program, as the end of the input does
Ctrl-C        ends the answer; twice at the prompt, the program
`

// line is a line of the input, or the error that ended it.
type line struct {
	text string
	err  error
}

// talk reads messages and writes answers until the input ends.
func (t *terminal) talk(ctx context.Context) error {
	if t.editor != nil {
		defer t.editor.close()
		fmt.Fprintf(t.out, "%s, a context of %d tokens; /help lists the commands\n", shown(t.name), t.context)
	}
	lines, next := make(chan line), make(chan struct{}, 1)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go t.read(ctx, next, lines)
	for reads, interrupted := false, false; ; {
		if !reads {
			next <- struct{}{}
			reads = true
		}
		var l line
		resume := program.Waiting(t.out)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.interrupts:
			l.err = errInterrupted
		case l = <-lines:
			reads = false
		}
		resume()
		switch {
		case l.err == errInterrupted && interrupted:
			return program.Interrupt{Signal: syscall.SIGINT}
		case l.err == errInterrupted:
			fmt.Fprint(t.out, "\nCtrl-C again ends the program\n")
			interrupted = true
			continue
		case l.err == errLong:
			fmt.Fprintln(t.out, l.err)
			continue
		case l.err == io.EOF:
			return nil
		case l.err != nil:
			return l.err
		}
		interrupted = false
		if more, err := t.do(ctx, l.text); err != nil || !more {
			return err
		}
	}
}

// longestLine is the largest number of bytes of a message of a pipe.
const longestLine = 1 << 20

// read sends a line of the input for each element of next.
func (t *terminal) read(ctx context.Context, next <-chan struct{}, lines chan<- line) {
	read := piped(t.stdin)
	if t.editor != nil {
		read = t.editor.line
	}
	for {
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
		s, err := read()
		select {
		case lines <- line{s, err}:
		case <-ctx.Done():
			return
		}
	}
}

// piped returns a function that reads the lines of a pipe.
func piped(r io.Reader) func() (string, error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, longestLine)
	return func() (string, error) {
		err := io.EOF
		switch {
		case in.Scan():
			return in.Text(), nil
		case errors.Is(in.Err(), bufio.ErrTooLong):
			err = errors.Errorf("a message has more than %d bytes", longestLine)
		case in.Err() != nil:
			err = in.Err()
		}
		return "", err
	}
}

// do obeys a command or answers a message. It reports whether the conversation goes on.
func (t *terminal) do(ctx context.Context, s string) (more bool, err error) {
	command, rest, _ := strings.Cut(strings.TrimSpace(s), " ")
	switch {
	case command == "":
	case command == "/quit" || command == "/exit":
		return false, nil
	case command == "/help":
		fmt.Fprint(t.out, help)
	case command == "/reset":
		t.reset()
	case command == "/system":
		t.options.system = strings.TrimSpace(rest)
		t.reset()
	case strings.HasPrefix(command, "/") && !strings.Contains(command[1:], "/"):
		fmt.Fprintf(t.out, "no command %s; /help lists them\n", shown(command))
	default:
		return true, t.reply(ctx, s)
	}
	return true, nil
}

// reply writes the answer to a message. Ctrl-C ends it, and what was written stays in the conversation.
func (t *terminal) reply(ctx context.Context, message string) error {
	messages := append(t.messages, chat.Message{Role: "user", Content: message})
	ids, err := t.prompt(ctx, messages, nil, t.options.tokens, t.options.cut)
	if err != nil {
		advice := "/reset begins a new conversation"
		if !t.options.cut {
			advice += ", -cut leaves out the earliest messages of a long one"
		}
		fmt.Fprintf(t.out, "%s; %s\n", program.Shown(err), advice)
		return nil
	}
	answering, stop := context.WithCancel(ctx)
	defer stop()
	written := make(chan struct{})
	defer close(written)
	go func() {
		select {
		case <-t.interrupts:
			stop()
		case <-written:
		}
	}()
	var answer strings.Builder
	q, err := t.choice(question{prompt: ids, tokens: t.options.tokens, sampling: t.options.sampling}, 0)
	if err != nil {
		return err
	}
	_, finish, err := t.answer(answering, q, func(p part) error {
		answer.WriteString(p.text)
		_, err := io.WriteString(t.out, shown(p.text))
		return err
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && answering.Err() == nil:
		return err
	case err != nil:
		finish = "interrupted"
	}
	end := "\n"
	if finish != atStop {
		end = " … [" + finish + "]\n"
	}
	t.messages = append(messages, chat.Message{Role: "assistant", Content: answer.String()})
	_, err = io.WriteString(t.out, end)
	return err
}

// shown returns a text without characters that control a terminal.
func shown(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return unicode.ReplacementChar
		}
		return c
	}, s)
}
