package text

// Load returns the text of ReadCorpus as the corpus of NewCorpus, with the tokenizer that the kind of that name makes
// of it: one of KindNames, or of your own.
func Load(path, kind string, blockSize int, own ...Kind) (Corpus, Tokenizer, error) {
	k, err := KindOf(kind, own...)
	if err != nil {
		return nil, nil, err
	}
	s, err := ReadCorpus(path)
	if err != nil {
		return nil, nil, err
	}
	tok, err := k.New(s)
	if err != nil {
		return nil, nil, err
	}
	c, err := NewCorpus(s, tok, blockSize)
	return c, tok, err
}
