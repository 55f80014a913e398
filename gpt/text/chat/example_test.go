package chat_test

import (
	"context"
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
)

// A conversation as the template of a model writes it; the model learns the assistant's messages and their ends.
func ExampleNewWriter() {
	tok, err := bpe.Train("no text to learn from", 256+2, "<|im_start|>", "<|im_end|>")
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := chat.NewWriter(chat.Template{Chat: chat.ChatML}, tok)
	if err != nil {
		fmt.Println(err)
		return
	}
	ids, answer, err := w.Tokens(context.Background(), chat.Message{Role: "user", Content: "Hi"},
		chat.Message{Role: "assistant", Content: "Yes."})
	for i, id := range ids {
		s, _ := tok.Decode([]int{id})
		if answer[i] {
			s = "[" + s + "]"
		}
		fmt.Print(s)
	}
	fmt.Println(err)
	// Output:
	// <|im_start|>user
	// Hi<|im_end|>
	// <|im_start|>assistant
	// [Y][e][s][.][<|im_end|>]
	// <nil>
}
