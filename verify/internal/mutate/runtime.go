package main

// runtimeText is the code added to every mutated package: the mutant of this run, and a record of the entered blocks in
// a file that outlives the process.
const runtimeText = `
import (
	"os"
	"strconv"
	"syscall"
)

var mutantID, _ = strconv.Atoi(os.Getenv("MUTANT"))

var mutantHits = func() []byte {
	n, _ := strconv.Atoi(os.Getenv("MUTANT_BLOCKS"))
	f, err := os.OpenFile(os.Getenv("MUTANT_HITS"), os.O_RDWR, 0)
	if err != nil {
		return make([]byte, n)
	}
	defer f.Close()
	hits, err := syscall.Mmap(int(f.Fd()), 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return hits
}()
`
