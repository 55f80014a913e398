package main

import (
	"bytes"
	"context"
	"embed"
	"html/template"
	"io"
	"os"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/examples/book/chapters"
	"github.com/pedestrian-ml/pedestrian/examples/book/trainer"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

//go:embed *.html *.css *.js
var static embed.FS

// book holds the chapters in their order.
type book struct {
	Chapters []chapters.Chapter

	root string // of the module
	page *template.Template
}

// read reads the chapters.
func read(root string) (*book, error) {
	t, err := template.New("").Funcs(template.FuncMap{"inline": inline}).ParseFS(static, "*.html")
	if err != nil {
		return nil, errors.Wrap(err, "book")
	}
	list, err := chapters.Read()
	return &book{list, root, t}, err
}

// writeChapter writes the page of a chapter.
func (b *book) writeChapter(dir string, i int) error {
	c := b.Chapters[i]
	var body bytes.Buffer
	if err := b.convert(c, &body); err != nil {
		return errors.WithMessagef(err, "chapter %d", c.Number)
	}
	data := struct {
		Book           *book
		Chapter        chapters.Chapter
		Body           template.HTML
		Previous, Next *chapters.Chapter
	}{b, c, template.HTML(body.String()), nil, nil}
	if i > 0 {
		data.Previous = &b.Chapters[i-1]
	}
	if i+1 < len(b.Chapters) {
		data.Next = &b.Chapters[i+1]
	}
	return b.save(filepath.Join(dir, c.File+".html"), "chapter.html", data)
}

// writeRest writes the first page, and the files that all pages use.
func (b *book) writeRest(ctx context.Context, dir string) error {
	if err := b.save(filepath.Join(dir, "index.html"), "index.html", struct{ Book *book }{b}); err != nil {
		return err
	}
	for _, name := range []string{"book.css", "book.js"} {
		data, err := static.ReadFile(name)
		if err != nil {
			return errors.Wrap(err, "book")
		}
		if err := saveBytes(filepath.Join(dir, name), data); err != nil {
			return err
		}
	}
	if err := b.writeMarker(ctx, dir); err != nil {
		return err
	}
	return trainer.Write(ctx, dir)
}

func (b *book) save(path, name string, data any) error {
	var page bytes.Buffer
	if err := b.page.ExecuteTemplate(&page, name, data); err != nil {
		return errors.Wrap(err, "book")
	}
	return saveBytes(path, page.Bytes())
}

func saveBytes(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return errors.Wrap(err, "book")
	}
	return file.Replace(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
