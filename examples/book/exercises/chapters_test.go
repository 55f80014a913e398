package exercises

import "testing"

func TestChapter01(t *testing.T) { mark(t, 1, chapter01) }

func TestChapter02(t *testing.T) { mark(t, 2, chapter02) }

func TestChapter03(t *testing.T) { mark(t, 3, chapter03) }

func TestChapter04(t *testing.T) { mark(t, 4, chapter04) }

func TestChapter05(t *testing.T) { mark(t, 5, chapter05) }

func TestChapter06(t *testing.T) { mark(t, 6, chapter06) }

func TestChapter07(t *testing.T) { mark(t, 7, chapter07) }

func TestChapter08(t *testing.T) { mark(t, 8, chapter08) }

func TestChapter09(t *testing.T) { mark(t, 9, chapter09) }

func TestChapter10(t *testing.T) { mark(t, 10, chapter10) }

func TestChapter11(t *testing.T) { mark(t, 11, chapter11) }

func TestChapter12(t *testing.T) { mark(t, 12, chapter12) }

func TestChapter13(t *testing.T) { mark(t, 13, chapter13) }

func TestChapter14(t *testing.T) { mark(t, 14, chapter14) }

func TestChapter15(t *testing.T) { mark(t, 15, chapter15) }

func TestChapter16(t *testing.T) { mark(t, 16, chapter16) }

func TestChapter17(t *testing.T) { mark(t, 17, chapter17) }

func TestChapter18(t *testing.T) { mark(t, 18, chapter18) }
