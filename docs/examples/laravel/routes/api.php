<?php

declare(strict_types=1);

use App\Http\ConversationController;
use Illuminate\Support\Facades\Route;

Route::get('/conversations/{conversation}', [ConversationController::class, 'show']);
Route::post('/conversations/{conversation}', [ConversationController::class, 'store']);
