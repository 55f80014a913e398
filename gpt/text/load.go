package text

// Load reads the text at path with ReadCorpus, builds a tokenizer of the named kind from it, and returns both the
// corpus of NewCorpus and the tokenizer. The kind is one of KindNames or your own.
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
