<?php

declare(strict_types=1);

use App\Http\ConversationController;
use Illuminate\Support\Facades\Route;

// The gate takes ids of 255 bytes at most.
Route::pattern('conversation', '[A-Za-z0-9_.:-]{1,255}');
Route::get('/conversations/{conversation}', [ConversationController::class, 'show']);
Route::post('/conversations/{conversation}', [ConversationController::class, 'store']);
